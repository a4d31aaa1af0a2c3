"""Pictures of installed packages cut out as things, textures and backgrounds."""

import re
from functools import lru_cache
from importlib import resources

import numpy as np
from PIL import Image, ImageDraw, ImageOps
from scipy import ndimage
from skimage.segmentation import watershed

from jointsparse.datasets.collage.scenes import COINS, OUTLINES, Outline

BILINEAR = Image.Resampling.BILINEAR
BOX = Image.Resampling.BOX

# ---------------------------------------------------------------------------------------------------------------------
# Materials, prepared once per process
# ---------------------------------------------------------------------------------------------------------------------

LONGEST_SIDE_PIXELS = 300  # of a stored cut-out; pictures are about 320 x 240 pixels


@lru_cache
def _source(name: str) -> Image.Image:
    """An installed picture in colour."""
    package = "sklearn.datasets.images" if name in ("china.jpg", "flower.jpg") else "skimage.data"
    with resources.files(package).joinpath(name).open("rb") as file, Image.open(file) as picture:
        return picture.convert("RGBA" if name == "horse.png" else "RGB")


def _grey(name: str) -> np.ndarray:
    return np.asarray(_source(name).convert("L"), dtype=np.float32)


@lru_cache
def cutout(name: str) -> Image.Image:
    """A thing without its surroundings, RGBA, cropped to its extent."""
    if name in OUTLINES:
        outline = OUTLINES[name]
        source = _source(outline.source)
        return _trim(_hand_coloured(source) if name == "man" else source, _follow_edges(source, outline))
    if name == "horse":
        horse = _source("horse.png")
        black = np.asarray(horse.convert("L")) < 128
        return _trim(horse, _soft(black & (np.asarray(horse.getchannel("A")) > 128)))
    if name == "motorcycle":
        return _trim(_source("motorcycle_left.png"), _motorcycle_mask())
    if name == "view":
        return _trim(_source("china.jpg"), _darker_than_sky())
    page = ImageOps.expand(_source("page.png").crop((4, 4, 376, 178)), 16, (214, 214, 214))
    page = page.transform((300, 240), Image.Transform.QUAD, (0, 0, 0, 206, 404, 206, 404, 0), BILINEAR)
    return _trim(page, Image.new("L", page.size, 255))


def _trim(picture: Image.Image, mask: Image.Image) -> Image.Image:
    """`picture` with `mask` as transparency, cropped to where there is something and shrunk to the stored size."""
    cut = picture.convert("RGB")
    cut.putalpha(mask)
    cut = cut.crop(mask.point(lambda a: 255 * (a > 40)).getbbox())
    cut.thumbnail((LONGEST_SIDE_PIXELS, LONGEST_SIDE_PIXELS), Image.Resampling.LANCZOS)
    return cut


def _follow_edges(picture: Image.Image, outline: Outline) -> Image.Image:
    """The mask of an outline, moved to the strongest edges nearby and softened."""
    rough, sure = Image.new("L", picture.size), Image.new("L", picture.size)
    ImageDraw.Draw(rough).polygon(_coordinates(outline.points), fill=255)
    inside = np.asarray(rough) > 0
    # A border of the picture is no edge of the thing.
    depth = ndimage.distance_transform_edt(np.pad(inside, 40, mode="edge"))[40:-40, 40:-40]
    away = ndimage.distance_transform_edt(~inside)
    channels = np.asarray(picture, dtype=np.float32)
    smooth = ndimage.gaussian_filter(channels, (1, 1, 0))
    edges = np.max([ndimage.gaussian_gradient_magnitude(smooth[..., c], 0.7) for c in range(3)], axis=0)
    markers = np.where(depth > outline.band, 1, np.where(away > outline.band, 2, 0))
    cut = watershed(edges, markers) == 1
    cut = ndimage.gaussian_filter(cut.astype(np.float32), 2.0) > 0.5  # smooth, without frays
    if outline.dark is not None:
        x, y, right, low = outline.dark
        cut[y:low, x:right] &= ndimage.gaussian_filter(channels.max(axis=2), 1.0)[y:low, x:right] < 85
        cut = ndimage.binary_opening(cut, iterations=3)
    for bar in map(_coordinates, outline.bars.split()):
        ImageDraw.Draw(sure).line(bar, fill=255, width=9)
    cut |= np.asarray(sure) > 0
    return _soft(cut)


def _coordinates(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"-?\d+", text)]


def _soft(mask: np.ndarray) -> Image.Image:
    """A yes/no mask as transparency with an edge about two pixels wide, drawn in a little against fringes."""
    alpha = ndimage.gaussian_filter(np.pad(mask, 8, mode="edge").astype(np.float32), 1.1)[8:-8, 8:-8]
    return Image.fromarray((255 * np.clip(1.9 * alpha - 0.8, 0, 1)).astype(np.uint8))


def _motorcycle_mask() -> Image.Image:
    """The part nearer to the camera than the garage behind and the floor below, by the stereo pair's disparities."""
    with resources.files("skimage.data").joinpath("motorcycle_disp.npz").open("rb") as file, np.load(file) as data:
        disparity = data["arr_0"]
    floor = np.array([np.median(row[np.isfinite(row)]) for row in disparity[:, 12:75]])
    near = np.isfinite(disparity) & (disparity > np.maximum(floor, 0.0)[:, None] + 3.0) & (disparity > 36)
    near[:, :95] = near[:, 690:] = False
    near = ndimage.binary_closing(near, iterations=2)
    labels, _ = ndimage.label(near)
    return _soft(ndimage.median_filter(labels == np.bincount(labels[near]).argmax(), 3))


def _darker_than_sky() -> Image.Image:
    """The pagoda and the trees of china.jpg, without sky and lake."""
    rgb = np.asarray(_source("china.jpg"), dtype=np.float32)
    haze = (rgb.min(axis=2) > 128) & (np.ptp(rgb, axis=2) < 70)
    labels, _ = ndimage.label(ndimage.binary_opening(haze, iterations=2))
    sizes = np.bincount(labels.ravel())
    open_air = np.isin(labels, [k for k in range(1, len(sizes)) if sizes[k] > 400])
    open_air[330:] = False
    return _soft(ndimage.binary_closing(ndimage.binary_fill_holes(~open_air), iterations=2))


def _hand_coloured(picture: Image.Image) -> Image.Image:
    """The cameraman's photograph is grey: a blue-black coat, skin where it is bright."""
    return ImageOps.colorize(picture.convert("L"), (6, 8, 14), (246, 226, 206), (168, 122, 98), midpoint=120)


@lru_cache
def coin(which: int) -> Image.Image:
    """One of the 24 coins, RGBA."""
    column, row = which % 6, which // 6
    x, y = COINS[row][column]
    tile = _source("coins.png").crop((x - 32, y - 34, x + 32, y + 34))
    bright = ndimage.gaussian_filter(np.asarray(tile.convert("L"), dtype=np.float32), 1.2)
    grid_y, grid_x = np.indices(bright.shape)
    central = np.hypot(grid_x - 32, grid_y - 34) < 31
    dark, light = np.percentile(bright, [15, 85])
    disc = ndimage.binary_opening(ndimage.binary_fill_holes((bright > (dark + light) / 2) & central), iterations=3)
    labels, n = ndimage.label(disc)
    disc = labels == (np.bincount(labels[disc]).argmax() if n else -1)
    ys, xs = np.nonzero(disc)
    round_mask = np.hypot((grid_x - xs.mean()) / (np.ptp(xs) / 2), (grid_y - ys.mean()) / (np.ptp(ys) / 2)) < 1
    return _trim(tile, _soft(round_mask))


@lru_cache
def _texture(name: str) -> Image.Image:
    """A grey, evenly lit texture that can be tiled by mirror images."""
    if name == "bricks":
        # The pavement was taken at an angle: stand it up, then lay the bricks down.
        bricks = _source("brick.png").convert("L")
        quad = (64, 0, 10, 511, 511, 511, 449, 0)
        level = bricks.transform((512, 512), Image.Transform.QUAD, quad, BILINEAR).transpose(Image.Transpose.ROTATE_90)
        grey = np.asarray(level, dtype=np.float32)
    elif name == "wood":
        # Grass, combed: long fibres make a grain.
        grain = ndimage.gaussian_filter1d(_grey("grass.png"), 60, axis=1, mode="mirror")
        fine = ndimage.gaussian_filter1d(_grey("gravel.png"), 14, axis=1, mode="mirror")
        grey = 5.0 * (grain - grain.mean()) + 1.6 * (fine - fine.mean())
        boards = np.arange(512) // 64
        shift = (np.array([0, 190, 80, 300, 140, 390, 250, 440])[boards][:, None] + np.arange(512)) % 512
        grey = np.take_along_axis(grey, shift, axis=1)
        grey += np.array([12, -16, 4, -8, 18, -4, 10, -14])[boards][:, None]
        grey[np.arange(512) % 64 < 2] -= 90
    elif name == "plaster":
        rough = _grey("gravel.png")
        grey = sum(ndimage.gaussian_filter(rough, s, mode="mirror") * s for s in (2.0, 8.0, 30.0))
    else:
        grey = _grey({"dust": "moon.png"}.get(name, f"{name}.png"))
    grey = grey - ndimage.gaussian_filter(grey, 90, mode="mirror")
    spread = {"plaster": 12, "dust": 30}.get(name, 46)
    return Image.fromarray(np.clip(122 + spread * grey / grey.std(), 0, 255).astype(np.uint8))


@lru_cache
def wall(name: str) -> Image.Image:
    """A texture seen from the front, 1024 x 1024."""
    tile = np.asarray(_texture(name))
    return Image.fromarray(np.pad(tile, ((0, 512), (0, 512)), mode="symmetric"))


PLATE_PIXELS = (640, 200)


@lru_cache
def ground(name: str) -> Image.Image:
    """A texture as a plane that runs to the horizon (the upper edge), grey, width and height `PLATE_PIXELS`."""
    pyramid = [wall(name)]
    while pyramid[-1].width > 8:
        pyramid.append(pyramid[-1].reduce(2))
    tiles = [np.asarray(smaller, dtype=np.float32) for smaller in pyramid]
    width, height = PLATE_PIXELS
    rows = np.zeros((height, width), dtype=np.float32)
    near = {"wood": 0.8, "gravel": 1.3, "dust": 0.7, "bricks": 0.85}.get(name, 1.15)  # texels per pixel at our feet
    for y in range(height):
        away = height / (y + 0.7)
        # At this step of the pyramid, a pixel shows about one texel in the mean of both directions.
        step = float(np.clip(np.log2(near * away**1.35), 0, len(tiles) - 1))
        for k, share in ((int(step), 1 - step % 1), (min(int(step) + 1, len(tiles) - 1), step % 1)):
            if not share:
                continue
            tile = tiles[k]
            u = ((np.arange(width) - width / 2) * near * away + 256) / 2**k
            v = near * height * away * 1.1 / 2**k
            left = np.floor(u).astype(int)
            line = tile[int(v) % len(tile)] * (1 - v % 1) + tile[(int(v) + 1) % len(tile)] * (v % 1)
            rows[y] += share * (line[left % len(tile)] * (1 - u % 1) + line[(left + 1) % len(tile)] * (u % 1))
    return Image.fromarray(rows.astype(np.uint8))


@lru_cache
def sky(name: str) -> Image.Image:
    """A sky, 640 x 320, the horizon below."""
    if name == "clear":
        return _source("china.jpg").crop((330, 0, 560, 190)).resize((640, 320), Image.Resampling.BICUBIC)
    if name == "night":
        return _source("hubble_deep_field.jpg").resize((640, 558), BOX).crop((0, 100, 640, 420))
    if name == "cloudy":
        rough = _grey("gravel.png")
        cloud = sum(ndimage.gaussian_filter(rough, (s, 2.4 * s), mode="mirror") * s for s in (3.0, 7.0, 15.0, 30.0))
        cloud = np.clip(0.5 + 0.42 * (cloud - cloud.mean()) / cloud.std(), 0, 1)[:320]
        picture = Image.fromarray((255 * cloud).astype(np.uint8)).resize((640, 320), BILINEAR)
        return ImageOps.colorize(picture, (98, 140, 196), (250, 250, 250), (186, 204, 226))
    # Dusk: red above the horizon, blue overhead
    height = np.linspace(1, 0, 320)[:, None]
    stops = [
        np.interp(height, (0, 0.25, 0.6, 1), colours)
        for colours in ((252, 236, 150, 52), (176, 128, 96, 54), (96, 92, 118, 96))
    ]
    glow = np.broadcast_to(np.stack(stops, axis=-1), (320, 640, 3))
    cloud = np.asarray(sky("cloudy").convert("L"), dtype=np.float32)[..., None] / 200
    return Image.fromarray(np.clip(glow * (0.55 + 0.5 * cloud), 0, 255).astype(np.uint8))


@lru_cache
def backdrop(name: str) -> Image.Image:
    """The back of a view, RGBA. Its lower edge stands on the horizon."""
    if name == "trees":
        return _with_mirror_image(cutout("view").crop((170, 96, 247, 187)).resize((138, 148), Image.Resampling.BICUBIC))
    if name == "pagoda":
        return cutout("view")
    if name == "city":
        hazy = ((40, 48, 60), (236, 242, 250), (140, 152, 168))
        picture = ImageOps.colorize(_source("camera.png").crop((338, 104, 511, 236)).convert("L"), *hazy)
        fade = np.clip(np.arange(picture.height) / 26, 0, 1)[:, None] * np.ones(picture.width)
        picture.putalpha(Image.fromarray((255 * fade).astype(np.uint8)))
        return picture
    if name == "launch":
        return _source("rocket.jpg").resize((480, 320), BOX).convert("RGBA")
    if name == "leaves":  # the dark green to the left of the flower
        return _with_mirror_image(_source("flower.jpg").crop((0, 0, 165, 427)))
    return _source("china.jpg").convert("RGBA")


def _with_mirror_image(picture: Image.Image) -> Image.Image:
    both = Image.new("RGBA", (2 * picture.width, picture.height))
    both.paste(picture, (0, 0))
    both.paste(ImageOps.mirror(picture), (picture.width, 0))
    return both


# Window or picture frame -> a source picture and the box (x, y, x, y) of it that is to be seen.
HANGING_BOXES = {
    "cat": ("chelsea.png", (0, 0, 400, 300)),
    "view": ("china.jpg", (40, 10, 480, 340)),
    "blossom": ("flower.jpg", (90, 30, 530, 400)),
    "portrait": ("astronaut.png", (60, 0, 400, 300)),
    "dark": ("flower.jpg", (0, 0, 170, 130)),
}


@lru_cache
def hanging(name: str) -> Image.Image:
    """The view through a window, or the picture in a frame."""
    if name == "stars":
        return sky("night")
    source, box = HANGING_BOXES[name]
    seen = _source(source).crop(box)
    return seen.point(lambda level: int(0.45 * level)) if name == "dark" else seen


@lru_cache
def moon() -> Image.Image:
    """A full moon, RGBA: the surface wrapped on a disc, darker towards its limb."""
    surface = _grey("moon.png")[56:456, 56:456]
    y, x = (np.indices((160, 160)) - 79.5) / 78
    r = np.minimum(np.hypot(x, y), 1)
    bulge = np.where(r > 0, np.arcsin(r) / np.maximum(r, 1e-6), 1) / (np.pi / 2)
    disc = ndimage.map_coordinates(surface, [200 + 195 * y * bulge, 200 + 195 * x * bulge], order=1, mode="nearest")
    disc = 176 + 2.2 * (disc - disc.mean())
    disc = np.clip(disc * (0.72 + 0.32 * np.sqrt(1 - r**2)), 0, 255)
    picture = ImageOps.colorize(Image.fromarray(disc.astype(np.uint8)), (0, 0, 0), (255, 250, 232))
    picture.putalpha(_soft(np.hypot(x, y) < 0.98))
    return picture
