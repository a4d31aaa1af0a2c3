"""Cut the objects, grounds and backgrounds of photographs out of pictures that come with installed packages."""

import re
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import numpy as np
import scipy  # loads scipy.ndimage only when it is used
import skimage  # loads skimage.segmentation only when it is used
from PIL import Image, ImageDraw, ImageOps

TEXTURE_PIXELS = 512  # sides of the square that is cut out of the picture of a texture
LONGEST_SIDE_PIXELS = 300  # longest side of a cut-out object; photographs have about 320 x 240 pixels


# For each object: its source picture, a rough outline in that picture (x,y of the corners), and how far, in pixels, the
# cut may deviate from the outline to follow the strongest edge.
OUTLINES = {
    "woman": (
        "astronaut.png",
        "20,515 20,440 22,390 32,330 48,280 72,247 105,230 120,215 118,180 130,160 150,150 180,148 180,135 "
        "165,122 153,100 152,75 165,45 190,22 225,14 262,22 290,50 301,80 300,105 285,128 266,138 258,172 275,182 "
        "295,205 303,235 330,252 350,285 358,347 400,344 440,352 475,385 495,430 508,470 508,515",
        6,
    ),
    "man": (
        "camera.png",
        "20,300 20,240 35,205 60,160 85,140 120,128 160,120 168,100 185,78 210,65 240,72 262,95 271,120 "
        "268,137 285,143 325,138 326,150 322,170 333,182 325,200 305,212 300,250 302,280 290,300",
        4,
    ),
    "cat": (
        "chelsea.png",
        "32,-5 40,40 35,90 15,120 -5,130 -5,305 262,305 290,275 318,240 342,200 357,170 365,140 360,100 354,72 "
        "372,60 395,-5",
        3,
    ),
    "flower": (
        "flower.jpg",
        "170,215 172,180 190,140 220,112 260,95 310,86 350,92 390,112 420,145 440,185 445,220 440,265 420,300 "
        "395,335 350,352 310,358 270,350 230,330 195,295 178,260",
        10,
    ),
    "coffee": (
        "coffee.png",
        "475,249 460,283 437,313 407,340 371,361 331,375 288,383 244,382 202,373 164,357 131,335 105,306 87,271 "
        "77,220 78,180 95,135 125,105 178,80 182,60 205,35 240,22 290,18 340,27 375,50 400,85 403,72 418,68 "
        "425,80 418,108 445,140 470,185 478,220",
        8,
    ),
}

# The centres of the coins in one row of coins.png.
COINS = ((45, 54), (101, 57), (156, 52), (216, 52), (276, 54), (335, 44))

# For each background: its source picture, and the visible box (left, top, right, bottom) of that picture.
VIEWS = {
    "temple": ("china.jpg", (60, 10, 500, 340)),
    "rocket": ("rocket.jpg", (60, 120, 500, 427)),
    "sky": ("china.jpg", (330, 0, 560, 190)),
    "stars": ("hubble_deep_field.jpg", (0, 100, 640, 520)),
    "leaves": ("flower.jpg", (0, 0, 165, 130)),
    "town": ("camera.png", (338, 104, 511, 236)),
}

# For each texture: its source picture, and the colours that replace its dark, middle and light grey levels.
TEXTURES = {
    "grass": ("grass.png", (18, 34, 8), (84, 120, 42), (196, 214, 130)),
    "gravel": ("gravel.png", (30, 28, 26), (132, 128, 122), (226, 222, 216)),
    "bricks": ("brick.png", (58, 20, 14), (158, 76, 56), (236, 214, 196)),
    "wood": ("grass.png", (52, 24, 10), (140, 84, 44), (222, 168, 112)),
    "sand": ("moon.png", (96, 80, 52), (190, 168, 122), (244, 230, 196)),
}


@lru_cache
def source(name: str) -> Image.Image:
    """Open a picture that comes with an installed package, in colour."""
    with Image.open(_file(name)) as picture:
        return picture.convert("RGBA" if name == "horse.png" else "RGB")


def _file(name: str) -> Path:
    """Return the path of a file that comes with an installed package, which need not be imported for it."""
    of_sklearn = name in ("china.jpg", "flower.jpg")
    package, folder = ("scikit-learn", "sklearn/datasets/images") if of_sklearn else ("scikit-image", "skimage/data")
    return Path(str(metadata.distribution(package).locate_file(f"{folder}/{name}")))


@lru_cache
def back(name: str) -> Image.Image:
    """Return a background, which is a view or a texture seen from the front. Its lower edge is the horizon."""
    if name not in VIEWS:
        return ground(name)
    picture, box = VIEWS[name]
    return source(picture).crop(box).resize((640, 480), Image.Resampling.BICUBIC)


@lru_cache
def ground(name: str) -> Image.Image:
    """Return the texture of a ground, coloured and evenly lit."""
    picture, dark, middle, light = TEXTURES[name]
    grey = np.asarray(source(picture).convert("L").crop((0, 0, TEXTURE_PIXELS, TEXTURE_PIXELS)), dtype=np.float32)
    if name == "wood":  # blurring grass along one axis makes long fibres like the grain of wood
        grey = scipy.ndimage.gaussian_filter1d(grey, 60, axis=1, mode="mirror")
    grey -= ((_blur() @ grey).astype(np.float32) @ _blur().T).astype(np.float32)
    level = np.clip(122 + 46 * grey / grey.std(), 0, 255).astype(np.uint8)
    return ImageOps.colorize(Image.fromarray(level), dark, light, middle)


@lru_cache
def _blur() -> np.ndarray:
    """Return the matrix that blurs the columns of a texture so much that only the light remains.

    A product with a matrix takes a tenth of the time of a filter as wide as this one.
    """
    return scipy.ndimage.gaussian_filter1d(np.eye(TEXTURE_PIXELS), 90, axis=0, mode="mirror")


@lru_cache
def thing(name: str, which: int = 0) -> Image.Image:
    """Return a picture of an object on a transparent background, as RGBA cropped to the object.

    `which` is the index of the coin, and has no effect for other objects.
    """
    if name == "coins":
        x, y = COINS[which]
        picture = source("coins.png").crop((x - 32, y - 34, x + 32, y + 34))
        bright = scipy.ndimage.gaussian_filter(np.asarray(picture.convert("L"), dtype=np.float32), 1.2)
        mask = scipy.ndimage.binary_fill_holes(bright > np.percentile(bright, [15, 85]).mean())
    elif name == "page":
        picture = source("page.png").crop((4, 4, 376, 178))
        mask = np.ones(picture.size[::-1], bool)
    elif name == "horse":
        picture = source("horse.png")
        mask = (np.asarray(picture.convert("L")) < 128) & (np.asarray(picture.getchannel("A")) > 128)
    elif name == "motorcycle":
        picture, mask = source("motorcycle_left.png"), _mask_by_depth()
    else:
        picture, mask = source(OUTLINES[name][0]), _along_edges(*OUTLINES[name])
    cut = picture.convert("RGB")
    cut.putalpha(_soft(mask))
    cut = cut.crop(cut.getchannel("A").point(lambda a: 255 * (a > 40)).getbbox())
    cut.thumbnail((LONGEST_SIDE_PIXELS, LONGEST_SIDE_PIXELS), Image.Resampling.LANCZOS)
    return cut


def _along_edges(name: str, points: str, band: int) -> np.ndarray:
    """Return the mask of an object, given a rough outline.

    The border of the mask follows the strongest edges within `band` pixels of the outline.
    """
    picture = source(name)
    rough = Image.new("L", picture.size)
    ImageDraw.Draw(rough).polygon([int(number) for number in re.findall(r"-?\d+", points)], fill=255)
    inside = np.asarray(rough) > 0
    # The border of the picture is not an edge of the object.
    depth = scipy.ndimage.distance_transform_edt(np.pad(inside, 40, mode="edge"))[40:-40, 40:-40]
    away = scipy.ndimage.distance_transform_edt(~inside)
    smooth = scipy.ndimage.gaussian_filter(np.asarray(picture, dtype=np.float32), (1, 1, 0))
    edges = np.max([scipy.ndimage.gaussian_gradient_magnitude(smooth[..., c], 0.7) for c in range(3)], axis=0)
    markers = np.where(depth > band, 1, np.where(away > band, 2, 0))
    near = (depth <= band + 1) & (away <= band + 1)  # the band and the markers at its sides: the others have no effect
    cut = np.where(near, skimage.segmentation.watershed(edges, markers * near, mask=near) == 1, inside)
    return np.asarray(scipy.ndimage.gaussian_filter(cut.astype(np.float32), 2.0) > 0.5)  # smooths a frayed outline


def _mask_by_depth() -> np.ndarray:
    """Return the mask of the motorcycle.

    The mask consists of the pixels that are nearer to the camera than the wall and the floor. The disparities of the
    stereo pair tell how near a pixel is.
    """
    with np.load(_file("motorcycle_disp.npz")) as data:
        disparity = data["arr_0"]
    # A strip to the left of the motorcycle gives the disparity of the wall and the floor in each row.
    floor = np.array([np.median(row[np.isfinite(row)]) for row in disparity[:, 12:75]])
    mask = np.isfinite(disparity) & (disparity > np.maximum(floor, 33.0)[:, np.newaxis] + 3.0)
    mask[:, :95] = mask[:, 690:] = False
    return np.asarray(scipy.ndimage.binary_closing(mask, iterations=2))


def _soft(mask: np.ndarray) -> Image.Image:
    """Return the largest connected part of a mask as an alpha channel with a soft edge, about two pixels wide.

    The edge is moved inwards a little, so that no fringe of the original background shows.
    """
    labels, _ = scipy.ndimage.label(mask)
    largest = labels == np.bincount(labels[mask]).argmax()
    alpha = scipy.ndimage.gaussian_filter(np.pad(largest, 8, mode="edge").astype(np.float32), 1.1)[8:-8, 8:-8]
    return Image.fromarray((255 * np.clip(1.9 * alpha - 0.8, 0, 1)).astype(np.uint8))
