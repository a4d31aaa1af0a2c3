"""The embedded dataset: photographs composed at run time out of real pictures that two dependencies install.

Nothing is downloaded, and a picture is a function of the seed and its number alone. What matters for joint sparsity is
built in: a few visual causes (grass, bricks, a cat, the night, …) carry many words, several words share a cause, the
words are noisy labels, and some frequent words have no visual cause at all.

Sources (installed files, read where they lie and altered in memory only; terms as the two packages state them):

- scikit-image, folder skimage/data. Public domain: astronaut, hubble_deep_field (NASA), rocket (SpaceX). No known
  restrictions: coins (Brooklyn Museum). CC0: brick, grass, gravel (CC0Textures), camera (Lav Varshney), chelsea (Stefan
  van der Walt), coffee (Rachel Michetti), horse (Andreas Preuss). No terms stated: moon, page, and motorcycle_left with
  motorcycle_disp (Middlebury stereo data 2014; Scharstein et al., GCPR 2014).
- scikit-learn, folder sklearn/datasets/images. CC BY 2.0: china (danielbuechele), flower (vultilion).
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps
from scipy import ndimage
from skimage.segmentation import watershed

from jointsparse.datasets import photographs
from jointsparse.datasets.photographs import FRACTIONS, Photographs, Progress

Colour = tuple[int, int, int]
Choices = Mapping[str, float]  # what may be drawn -> its weight

BILINEAR = Image.Resampling.BILINEAR
BOX = Image.Resampling.BOX

# ---------------------------------------------------------------------------------------------------------------------
# What there is to see
# ---------------------------------------------------------------------------------------------------------------------


class Outline(NamedTuple):
    """A rough outline in a source picture; the cut follows the strongest edge within `band` pixels of it."""

    source: str
    points: str  # x,y of the corners
    bars: str = ""  # thin straight parts: x,y,x,y of each
    dark: tuple[int, int, int, int] | None = None  # in this box (x, y, x, y) only what is dark belongs to the thing
    band: int = 7


OUTLINES = {
    "woman": Outline(
        "astronaut.png",
        "20,515 20,440 22,390 32,330 48,280 72,247 105,230 120,215 118,180 130,160 150,150 180,148 180,135 "
        "165,122 153,100 152,75 165,45 190,22 225,14 262,22 290,50 301,80 300,105 285,128 266,138 258,172 275,182 "
        "295,205 303,235 330,252 350,285 358,347 400,344 440,352 475,385 495,430 508,470 508,515",
        band=6,
    ),
    "man": Outline(
        "camera.png",
        "-5,515 -5,240 20,235 35,205 60,160 85,140 120,128 160,120 168,100 185,78 210,65 240,72 262,95 271,120 "
        "268,137 285,143 325,138 326,150 322,170 333,182 325,200 305,212 300,250 302,280 290,305 265,310 235,303 "
        "190,345 150,382 142,400 148,450 152,515 136,515 124,460 102,432 94,470 88,515",
        bars="294,210,294,320 290,325,243,512 295,325,295,485 312,325,398,512 250,470,295,488",
        dark=(0, 300, 240, 512),  # coat and legs, but not the meadow between them
        band=4,
    ),
    "cat": Outline(
        "chelsea.png",
        "32,-5 40,40 35,90 15,120 -5,130 -5,305 262,305 290,275 318,240 342,200 357,170 365,140 360,100 354,72 "
        "372,60 395,-5",
        band=3,
    ),
    "flower": Outline(
        "flower.jpg",
        "170,215 172,180 190,140 220,112 260,95 310,86 350,92 390,112 420,145 440,185 445,220 440,265 420,300 "
        "395,335 350,352 310,358 270,350 230,330 195,295 178,260",
        band=10,
    ),
    "coffee": Outline(
        "coffee.png",
        "475,249 460,283 437,313 407,340 371,361 331,375 288,383 244,382 202,373 164,357 131,335 105,306 87,271 "
        "77,220 78,180 95,135 125,105 178,80 182,60 205,35 240,22 290,18 340,27 375,50 400,85 403,72 418,68 "
        "425,80 418,108 445,140 470,185 478,220",
        band=8,
    ),
}

# The centres of the 24 coins in coins.png.
COINS = (
    ((45, 54), (101, 57), (156, 52), (216, 52), (276, 54), (335, 44)),
    ((45, 124), (103, 126), (154, 126), (206, 125), (271, 119), (337, 125)),
    ((45, 196), (103, 196), (155, 196), (212, 193), (274, 197), (347, 187)),
    ((47, 260), (115, 265), (167, 261), (245, 263), (302, 261), (358, 268)),
)

# Texture -> what its dark, middle and light grey levels become; one of these palettes is drawn.
COLOURS: dict[str, tuple[tuple[Colour, Colour, Colour], ...]] = {
    "grass": (
        ((18, 34, 8), (84, 120, 42), (196, 214, 130)),
        ((24, 36, 12), (104, 128, 52), (214, 216, 140)),
        ((14, 36, 14), (66, 108, 48), (170, 200, 128)),
        ((40, 38, 14), (136, 132, 66), (226, 214, 150)),
    ),
    "gravel": (
        ((30, 28, 26), (132, 128, 122), (226, 222, 216)),
        ((48, 38, 26), (164, 142, 112), (240, 224, 196)),
        ((24, 26, 30), (108, 114, 122), (204, 210, 218)),
    ),
    "bricks": (
        ((58, 20, 14), (158, 76, 56), (236, 214, 196)),
        ((48, 26, 18), (140, 92, 66), (226, 208, 186)),
        ((36, 34, 34), (122, 116, 112), (222, 218, 212)),
        ((84, 44, 30), (186, 118, 88), (244, 226, 206)),
    ),
    "wood": (
        ((52, 24, 10), (140, 84, 44), (222, 168, 112)),
        ((30, 16, 10), (92, 56, 34), (180, 130, 90)),
        ((96, 66, 36), (186, 144, 96), (240, 212, 170)),
    ),
    "plaster": (
        ((120, 104, 84), (206, 192, 168), (246, 238, 222)),
        ((84, 96, 104), (168, 180, 186), (228, 234, 238)),
        ((96, 104, 84), (176, 184, 158), (236, 238, 222)),
        ((110, 70, 60), (190, 144, 126), (240, 216, 200)),
    ),
    "dust": (((20, 20, 22), (120, 118, 114), (230, 228, 222)),),
}

CAT_SHAPE = 1.32  # width by height of the cat's cut-out; a plan opens no pictures

# The light of an hour: factors of red, green, blue on grounds and things.
LIGHT: dict[str, tuple[float, float, float]] = {
    "day": (1.0, 1.0, 0.97),
    "indoors": (1.0, 0.93, 0.82),
    "dusk": (0.66, 0.50, 0.45),
    "night": (0.46, 0.50, 0.62),
}


class Thing(NamedTuple):
    """How a thing is put into a picture.

    stance: stands or grows on the ground at any depth, lies on it, is cut off by the lower edge, or is seen so close
    that it is cut off above and below. tall: height in units of the horizon's height above the foot (stands, grows,
    lies) or of the picture's height (cut, close).
    """

    stance: str
    tall: tuple[float, float]
    most: int = 1


THINGS = {
    "horse": Thing("stands", (0.95, 1.3), 2),
    "motorcycle": Thing("stands", (0.72, 0.95)),
    "man": Thing("cut", (0.6, 1.0)),
    "woman": Thing("cut", (0.6, 1.0)),
    "cat": Thing("close", (1.04, 1.5)),
    "flower": Thing("grows", (0.5, 0.95), 5),
    "coffee": Thing("lies", (0.5, 0.75)),
    "coins": Thing("lies", (0.16, 0.24), 7),
    "page": Thing("lies", (0.45, 0.7)),
}


class Scene(NamedTuple):
    """A kind of picture: what may be drawn, with weights. behind: what closes the view; hung: windows and frames."""

    weight: float
    hours: Choices
    behind: Choices
    ground: Choices
    things: Choices
    n_things: tuple[int, int]
    horizon: tuple[float, float]  # height of the horizon from above, as a part of the picture; negative: from above
    hung: Choices


SCENES = {
    "meadow": Scene(
        0.19,
        {"day": 3, "dusk": 1.4},
        {"trees": 3, "pagoda": 2, "city": 2, "open": 2},
        {"grass": 1},
        {"horse": 5, "man": 2, "motorcycle": 1.2, "cat": 1.5, "flower": 3, "woman": 1.2},
        (1, 2),
        (0.32, 0.55),
        {},
    ),
    "street": Scene(
        0.2,
        {"day": 4, "night": 1},
        {"bricks": 1},
        {"gravel": 3, "bricks": 3, "grass": 2},
        {"motorcycle": 5, "man": 2, "woman": 1.3, "cat": 1, "flower": 1},
        (1, 2),
        (0.45, 0.68),
        {"cat": 3, "view": 1, "dark": 2, "none": 2},
    ),
    "table": Scene(
        0.22,
        {"indoors": 1},
        {"plaster": 3, "bricks": 1.2},
        {"wood": 1},
        {"coffee": 5, "coins": 3.5, "page": 3.5, "flower": 2, "cat": 1.2},
        (1, 3),
        (0.28, 0.45),
        {"view": 3, "cat": 2, "stars": 1.6, "blossom": 1.5, "portrait": 1, "none": 2},
    ),
    "floor": Scene(
        0.09,
        {"day": 1},
        {"open": 1},
        {"wood": 2, "gravel": 2, "grass": 1.5, "bricks": 1.5},
        {"coins": 5, "page": 3, "coffee": 1.2, "flower": 2},
        (1, 2),
        (-1.0, -1.0),
        {},
    ),
    "night": Scene(
        0.16,
        {"night": 1},
        {"launch": 5, "city": 1.5, "open": 3},
        {"grass": 2, "gravel": 1.5, "dust": 2},
        {"woman": 2.2, "man": 2, "motorcycle": 1.3, "horse": 2, "cat": 0.8},
        (0, 2),
        (0.55, 0.78),
        {},
    ),
    "lake": Scene(
        0.08,
        {"day": 1},
        {"lake": 1},
        {"bricks": 1, "grass": 1, "wood": 1},
        {"man": 2, "woman": 1, "cat": 2, "flower": 1, "coffee": 1},
        (0, 1),
        (0.74, 0.86),
        {},
    ),
    "garden": Scene(
        0.07,
        {"day": 1},
        {"leaves": 1},
        {"grass": 2, "gravel": 1},
        {"flower": 4, "cat": 2, "woman": 1, "coffee": 0.5},
        (1, 2),
        (0.6, 0.85),
        {},
    ),
}

# ---------------------------------------------------------------------------------------------------------------------
# What is told about it
# ---------------------------------------------------------------------------------------------------------------------

# One cause -> the names that people give it. Synonyms are drawn anew for each sentence.
NAMES: dict[str, Choices] = {
    "horse": {"a horse": 3, "a black horse": 3, "a dark animal": 1.5},
    "horses": {"two horses": 3, "two black horses": 3, "two animals": 1.5},
    "motorcycle": {"a red motorcycle": 3, "a motorcycle": 2, "a red bike": 3, "a shiny bike": 1},
    "man": {"a man with a camera": 3, "a photographer": 2, "a man in a black coat": 3},
    "woman": {"a woman in an orange suit": 3, "a smiling astronaut": 3, "a smiling woman": 2, "an astronaut": 1},
    "cat": {"a cat": 4, "a brown cat": 3, "a brown kitten": 2, "a kitten": 2, "a curious animal": 1.5},
    "flower": {"an orange flower": 3, "a flower": 2, "a blossom": 1},
    "flowers": {"orange flowers": 3, "some flowers": 3, "a few blossoms": 1},
    "coffee": {"a cup of coffee": 4, "a red cup": 2, "a coffee": 2, "a red cup with hot coffee": 2},
    "coins": {"old coins": 3, "some coins": 3, "a few metal coins": 2},
    "page": {"a sheet of paper": 3, "a printed page": 3, "a page of a book": 3, "a paper": 1},
}
VERBS: dict[str, Choices] = {
    "horse": {"stands": 3, "is standing": 3, "rests": 1},
    "horses": {"stand": 3, "are standing": 3, "rest": 1},
    "motorcycle": {"is parked": 4, "stands": 2, "waits": 1},
    "man": {"is standing": 3, "looks around": 2, "works": 1},
    "woman": {"poses": 3, "is standing": 2, "waits": 1},
    "cat": {"looks up": 2, "sits": 3, "waits": 1},
    "flower": {"grows": 2, "is to be seen": 1},
    "flowers": {"grow": 2, "are to be seen": 1},
    "coffee": {"is served": 2, "waits": 1, "stands": 2},
    "coins": {"lie": 3, "are lying": 3},
    "page": {"lies": 3, "is lying": 3},
}
PLACES: dict[str, Choices] = {
    "grass": {"on the grass": 3, "on the green grass": 2, "in a green meadow": 3, "on a lawn": 3, "in a field": 3},
    "gravel": {"on gravel": 3, "on the gravel": 2, "on grey stones": 3, "on small stones": 2},
    "bricks": {"on a paved street": 3, "on the street": 2, "on the pavement": 4, "on red bricks": 1},
    "wood": {"on a table": 3, "on a wooden table": 4, "on the wood of a desk": 2},
    "dust": {"on the ground": 2, "in the dust": 2, "on the sand": 1},
}
BEHIND: dict[str, Choices] = {
    "bricks": {"in front of a brick wall": 4, "beside a brick building": 2, "before a wall of bricks": 2},
    "plaster": {"in a room": 3, "before a plain wall": 2, "in the kitchen": 2},
    "trees": {"with trees in the background": 3, "near the trees": 2, "in front of bushes and trees": 2},
    "pagoda": {"with a temple in the background": 2, "near a pagoda": 2, "below an old tower among trees": 2},
    "lake": {"by the lake": 3, "by the water near a temple": 2, "above the lake with an old tower": 2},
    "city": {"with the city in the background": 3, "near the city": 2, "before the buildings of a town": 2},
    "launch": {"near a rocket": 3, "with a rocket on the launch pad": 3, "at the launch of a rocket": 2},
    "leaves": {"in a garden": 3, "before dark green leaves": 2, "among the leaves of a garden": 2},
    "open": {"under the open sky": 2, "under the sky": 1},
}
HANGING: dict[str, Choices] = {
    "cat": {"a picture of a cat hangs on the wall": 3, "a cat looks out of a frame on the wall": 2},
    "view": {"the window shows a temple": 2, "a tower is to be seen through the window": 2},
    "stars": {"stars shine through the window": 2, "it is night outside the window": 2},
    "blossom": {"a picture of a flower hangs on the wall": 3, "the frame shows an orange flower": 2},
    "portrait": {"a portrait of a woman hangs on the wall": 2, "the frame shows a smiling astronaut": 2},
    "dark": {"the window is dark": 2, "a dark window in the wall is closed": 2},
}

# One cause -> sentences about it alone.
DETAILS: dict[str, tuple[str, ...]] = {
    "horse": ("The animal is black and still.", "The horse has a long tail.", "A black animal in the field."),
    "motorcycle": ("The wheels and the engine are clean.", "Its engine is shiny, its wheels are black."),
    "man": ("He films with his camera on a tripod.", "The coat of the man is black.", "A man and his tripod."),
    "woman": ("The woman wears an orange suit.", "She holds a helmet, and she smiles.", "The helmet is black."),
    "cat": (
        "The animal has green eyes and soft fur.",
        "Its fur is brown and its eyes are green.",
        "Soft fur of a cat.",
    ),
    "flower": ("The petals are orange.", "An orange blossom with many petals.", "The flower has many petals."),
    "coffee": ("The cup and the saucer are red.", "There is a spoon on the saucer.", "Hot coffee in a red cup."),
    "coins": ("The metal is old and round.", "Old money, made of metal.", "The coins are round."),
    "page": ("The text on the paper is about a book.", "One can read the printed text.", "A page to read."),
    "grass": ("The grass is green.", "A green lawn.", "The meadow needs rain.", "Green grass in the field."),
    "gravel": ("There are many small stones.", "The gravel is dry.", "Grey stones everywhere."),
    "wood": ("The wooden table is brown.", "Brown wood and a warm room.", "A wooden desk."),
    "pavement": ("The street is empty.", "The pavement is clean.", "Bricks in rows on the street."),
    "bricks": ("The wall is made of bricks.", "A brick wall of an old building.", "The bricks of the wall are old."),
    "plaster": ("The room is warm.", "A quiet room in the house.", "The kitchen is warm, the wall is plain."),
    "trees": ("There are trees in the park.", "Trees and bushes grow in the background.", "A park with old trees."),
    "pagoda": ("The temple has red roofs.", "An old tower with many roofs.", "The pagoda is an old temple."),
    "lake": ("The lake is calm.", "There is calm water, and a temple above it.", "The water of the lake is bright."),
    "city": ("The city is near.", "There are buildings in the background.", "A town with a high tower."),
    "launch": ("The rocket is white and high.", "Bright lights shine on the rocket.", "The launch is near."),
    "leaves": ("The garden is dark green.", "Large leaves in the garden.", "The leaves are dark."),
    "dust": ("The ground is bare.", "Nothing but sand and dust.", "The sand on the ground is dry."),
    "open": ("The sky is wide.", "A wide and empty sky.", "The sky is empty."),
    "moon": ("The moon is full.", "A full moon hangs in the sky.", "The bright moon shines."),
}
HOURS: dict[str, tuple[str, ...]] = {
    "day": ("It is a bright day outdoors.", "A sunny day outdoors.", "The day is bright.", "Outdoors, in summer."),
    "clouds": ("Clouds drift across the sky.", "There are white clouds in the blue sky.", "A blue sky with clouds."),
    "dusk": ("The evening sky is red.", "It is dusk, the sun has set.", "A red sunset outdoors.", "The sun sets."),
    "night": (
        "Stars shine in the dark sky.",
        "It is a dark night.",
        "A night with many stars.",
        "The night sky is dark.",
    ),
    "indoors": ("It is warm indoors.", "An indoor scene at home.", "At home, indoors.", "A table at home."),
}

# No visual cause: opening words, endings and whole sentences.
OPENINGS = ("Today, ", "Last weekend, ", "On Monday, ", "On Friday, ", "On holiday, ", "On our trip, ")
ENDINGS = (", what a nice moment", ", my favourite picture", ", says a friend", ", a nice memory", ", just for fun")
ASIDES = (
    "My favourite photo of the holiday.",
    "A friend took this photo on Monday.",
    "A nice weekend with a friend.",
    "This one is for the family album.",
    "We will remember this trip, says my friend.",
    'The album calls it "a nice holiday".',
    "A photo from the family trip on Friday.",
    "My favourite from Monday, now in the album.",
    "One more for the weekend album.",
    "It was Friday, a nice day for the family.",
)

# ---------------------------------------------------------------------------------------------------------------------
# Materials, prepared once per process
# ---------------------------------------------------------------------------------------------------------------------

LARGEST = 300  # pixels: a cut-out is stored no larger than this; pictures are about 320 x 240


@lru_cache
def _source(name: str) -> Image.Image:
    """An installed picture in colour."""
    package = "sklearn.datasets.images" if name in ("china.jpg", "flower.jpg") else "skimage.data"
    with resources.files(package).joinpath(name).open("rb") as file, Image.open(file) as picture:
        return picture.convert("RGBA" if name == "horse.png" else "RGB")


def _grey(name: str) -> np.ndarray:
    return np.asarray(_source(name).convert("L"), dtype=np.float32)


@lru_cache
def _cutout(name: str) -> Image.Image:
    """A thing without its surroundings, RGBA, cropped to its extent."""
    if name == "horse":
        black = np.asarray(_source("horse.png").convert("L")) < 128
        return _trim(_source("horse.png"), _soft(black & (np.asarray(_source("horse.png").getchannel("A")) > 128)))
    if name == "motorcycle":
        return _trim(_source("motorcycle_left.png"), _motorcycle_mask())
    if name == "page":
        page = ImageOps.expand(_source("page.png").crop((4, 4, 376, 178)), 16, (214, 214, 214))
        page = page.transform((300, 240), Image.Transform.QUAD, (0, 0, 0, 206, 404, 206, 404, 0), BILINEAR)
        return _trim(page, Image.new("L", page.size, 255))
    if name == "view":
        return _trim(_source("china.jpg"), _darker_than_sky())
    outline = OUTLINES[name]
    picture = _source(outline.source)
    if name == "man":
        picture = _hand_coloured(picture)
    return _trim(picture, _follow_edges(_source(outline.source), outline))


def _trim(picture: Image.Image, mask: Image.Image) -> Image.Image:
    """`picture` with `mask` as transparency, cropped to where there is something and shrunk to the stored size."""
    cut = picture.convert("RGB")
    cut.putalpha(mask)
    cut = cut.crop(mask.point(lambda a: 255 * (a > 40)).getbbox())
    cut.thumbnail((LARGEST, LARGEST), Image.Resampling.LANCZOS)
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
    """What is nearer to the camera than the garage behind and the floor below, by the stereo pair's disparities."""
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
def _coin(which: int) -> Image.Image:
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
def _wall(name: str) -> Image.Image:
    """A texture seen from the front, 1024 x 1024."""
    tile = np.asarray(_texture(name))
    return Image.fromarray(np.pad(tile, ((0, 512), (0, 512)), mode="symmetric"))


PLATE = (640, 200)


@lru_cache
def _ground(name: str) -> Image.Image:
    """A texture as a plane that runs to the horizon (the upper edge), grey, width and height `PLATE`."""
    levels = [_wall(name)]
    while levels[-1].width > 8:
        levels.append(levels[-1].reduce(2))
    tiles = [np.asarray(level, dtype=np.float32) for level in levels]
    width, height = PLATE
    rows = np.zeros((height, width), dtype=np.float32)
    near = {"wood": 0.8, "gravel": 1.3, "dust": 0.7, "bricks": 0.85}.get(name, 1.15)  # texels per pixel at our feet
    for y in range(height):
        away = height / (y + 0.7)
        # One texel per pixel at the geometric mean of the two directions' steps
        level = float(np.clip(np.log2(near * away**1.35), 0, len(tiles) - 1))
        for k, share in ((int(level), 1 - level % 1), (min(int(level) + 1, len(tiles) - 1), level % 1)):
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
def _sky(name: str) -> Image.Image:
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
    cloud = np.asarray(_sky("cloudy").convert("L"), dtype=np.float32)[..., None] / 200
    return Image.fromarray(np.clip(glow * (0.55 + 0.5 * cloud), 0, 255).astype(np.uint8))


@lru_cache
def _backdrop(name: str) -> Image.Image:
    """What closes a view, RGBA; its lower edge stands on the horizon."""
    if name == "trees":
        bush = _cutout("view").crop((170, 96, 247, 187)).resize((138, 148), Image.Resampling.BICUBIC)
        trees = Image.new("RGBA", (276, 148))
        trees.paste(bush, (0, 0))
        trees.paste(ImageOps.mirror(bush), (138, 0))
        return trees
    if name == "pagoda":
        return _cutout("view")
    if name == "city":
        picture = _hazy(_source("camera.png").crop((338, 104, 511, 236)))
        fade = np.clip(np.arange(picture.height) / 26, 0, 1)[:, None] * np.ones(picture.width)
        picture.putalpha(Image.fromarray((255 * fade).astype(np.uint8)))
        return picture
    if name == "launch":
        return _source("rocket.jpg").resize((480, 320), BOX).convert("RGBA")
    if name == "leaves":
        # Without the flower: the dark green to its left and the same mirrored
        flower = _source("flower.jpg")
        leaves = Image.new("RGBA", (330, 427))
        leaves.paste(flower.crop((0, 0, 165, 427)), (0, 0))
        leaves.paste(ImageOps.mirror(flower.crop((0, 0, 165, 427))), (165, 0))
        return leaves
    return _source("china.jpg").convert("RGBA")


def _hazy(picture: Image.Image) -> Image.Image:
    return ImageOps.colorize(picture.convert("L"), (40, 48, 60), (236, 242, 250), (140, 152, 168))


@lru_cache
def _hanging(name: str) -> Image.Image:
    """What is to be seen in a window or a picture frame."""
    if name == "cat":
        return _source("chelsea.png").crop((0, 0, 400, 300))
    if name == "view":
        return _source("china.jpg").crop((40, 10, 480, 340))
    if name == "stars":
        return _sky("night")
    if name == "blossom":
        return _source("flower.jpg").crop((90, 30, 530, 400))
    if name == "portrait":
        return _source("astronaut.png").crop((60, 0, 400, 300))
    return _source("flower.jpg").crop((0, 0, 170, 130)).point(lambda g: int(0.45 * g))


@lru_cache
def _moon() -> Image.Image:
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


# ---------------------------------------------------------------------------------------------------------------------
# What is in picture number so-and-so
# ---------------------------------------------------------------------------------------------------------------------


class Placed(NamedTuple):
    """A thing in a picture: the middle and the foot in pixels, its height in pixels, mirrored or not, turned by."""

    name: str
    x: float
    foot: float
    height: float
    mirror: bool
    turn: float


class Plan(NamedTuple):
    """All that the picture shows and its captions may tell."""

    width: int
    height: int
    scene: str
    hour: str
    sky: str
    behind: str
    ground: str
    horizon: float
    hung: str
    moon: bool
    things: tuple[str, ...]
    placed: tuple[Placed, ...]


def _draw(rng: np.random.Generator, choices: Choices) -> str:
    weights = np.fromiter(choices.values(), dtype=float)
    return list(choices)[int(np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(), side="right"))]


def _plan(number: int, seed: int) -> Plan:
    """Picture `number`, drawn from the scenes' tables."""
    rng = np.random.default_rng((seed, number, 0))
    width, height = int(rng.integers(300, 321)), int(rng.integers(224, 249))
    upright = rng.random() < 0.3
    name = _draw(rng, {name: scene.weight for name, scene in SCENES.items()})
    scene = SCENES[name]
    hour = _draw(rng, scene.hours)
    left = dict(scene.things)
    things: list[str] = []
    for _ in range(int(rng.integers(scene.n_things[0], scene.n_things[1] + 1))):
        thing = _draw(rng, left)
        things.append(thing)
        large = THINGS[thing].stance in ("cut", "close")
        left = {
            other: weight
            for other, weight in left.items()
            if other != thing and not (large and THINGS[other].stance in ("cut", "close"))
        }
    if upright and "cat" not in things:  # so near a cat, nothing else would fit in
        width, height = height, width
    horizon = height * rng.uniform(*scene.horizon)
    hung = _draw(rng, scene.hung) if scene.hung else "none"
    if hung == "view" and hour == "night":
        hung = "dark"
    placed = [spot for thing in things for spot in _place(rng, thing, width, height, horizon)]
    placed.sort(key=lambda spot: (THINGS[spot.name].stance in ("cut", "close"), spot.foot))
    behind = _draw(rng, scene.behind)
    moonlit = {"night": 0.65, "dusk": 0.3}.get(hour, 0.0) if behind not in ("launch", "bricks") else 0.0
    return Plan(
        width=width,
        height=height,
        scene=name,
        hour=hour,
        sky=_draw(rng, {"clear": 1, "cloudy": 1.2}) if hour in ("day", "indoors") else hour,
        behind=behind,
        ground=_draw(rng, scene.ground),
        horizon=horizon,
        hung=hung,
        moon=bool(rng.random() < moonlit),
        things=tuple(things),
        placed=tuple(placed),
    )


def _place(rng: np.random.Generator, name: str, width: int, height: int, horizon: float) -> list[Placed]:
    """Where a thing, or several of a kind, come to stand."""
    thing = THINGS[name]
    count = int(rng.integers(min(2, thing.most - 1), thing.most + 1)) if thing.most > 1 else 1
    count = max(count, 1)
    spots = []
    for _ in range(count):
        tall = rng.uniform(*thing.tall)
        x = width * rng.uniform(0.12, 0.88)
        if thing.stance == "cut":
            tall *= min(height, 1.15 * width)
            foot = height + rng.uniform(0.0, 0.12) * tall
        elif thing.stance == "close":
            tall *= height
            foot = height + rng.uniform(0, 1) * (tall - height)
            # The source ends left of the cat: that side lies on, or beyond, the picture's edge.
            mirror = bool(rng.random() < 0.5)
            left = rng.uniform(-0.45, -0.03) * tall * CAT_SHAPE
            middle = left + tall * CAT_SHAPE / 2
            spots.append(Placed(name, width - middle if mirror else middle, foot, tall, mirror, 0.0))
            continue
        elif horizon < 0:  # seen from above
            side = min(width, height)
            tall *= side * (0.75 if name == "flower" else 1.0)
            x, foot = width * rng.uniform(0.08, 0.92), height * rng.uniform(0.1, 0.9) + tall / 2
        else:
            span = height - horizon
            near = rng.uniform(0.45, 0.98) if thing.stance == "stands" else rng.uniform(0.3, 1.05)
            foot = horizon + near * span
            tall *= (near + 0.45) * 0.75 * min(span, 0.6 * width) if thing.stance == "lies" else near * span
            if thing.stance == "stands":
                tall *= min(max(1.0, 0.5 * height / span), 1.25 * width / height)
            if thing.stance == "grows":
                tall *= 0.9 if span > 0.4 * height else 1.6
        spots.append(Placed(name, x, foot, tall, bool(rng.random() < 0.5), rng.uniform(-1, 1)))
    return spots


def _captions(plan: Plan, rng: np.random.Generator) -> list[str]:
    """Three to five sentences about the plan, as several people would tell it: each sees and names other things."""
    details = [line for cause in _causes(plan) for line in DETAILS.get(cause, ())]
    hours = HOURS[plan.hour] + (HOURS["clouds"] if plan.sky == "cloudy" and plan.horizon > 0 else ())
    hours = hours if plan.behind not in ("bricks", "plaster") or plan.hour in ("day", "indoors") else hours[1:2]
    lines: list[str] = []
    n_lines = int(rng.integers(3, 6))
    while len(lines) < n_lines:
        draw = rng.random()
        if not lines or draw < 0.46:
            line = _sentence(plan, rng)
        elif draw < 0.74:
            line = details[int(rng.integers(len(details)))]
        elif draw < 0.88:
            line = hours[int(rng.integers(len(hours)))]
        else:
            line = ASIDES[int(rng.integers(len(ASIDES)))]
        if line not in lines:
            lines.append(line)
    return lines


def _causes(plan: Plan) -> list[str]:
    """What can be seen, for the sentences about details."""
    causes = [*plan.things, "pavement" if plan.ground == "bricks" else plan.ground]
    if plan.horizon > 0:
        causes += [plan.behind] + ["moon"] * plan.moon
    return [cause for cause in causes if cause in DETAILS]


def _sentence(plan: Plan, rng: np.random.Generator) -> str:
    """One sentence about the whole scene."""
    place = _draw(rng, PLACES[plan.ground])
    behind = _draw(rng, BEHIND[plan.behind]) if plan.horizon > 0 and plan.behind in BEHIND else ""
    if plan.things:
        order = list(rng.permutation(plan.things))
        names = [_draw(rng, NAMES[_counted(plan, thing)]) for thing in order]
        verb = _draw(rng, VERBS[_counted(plan, order[0])])
        if order[0] == "flower" and _lies_flat(plan):
            verb = "lies" if _counted(plan, "flower") == "flower" else "lie"
        if len(names) > 1 and rng.random() < 0.65:
            text = f"{' and '.join(names[:2])} {place}"
        else:
            text = f"{names[0]} {verb} {place}"
        if behind and rng.random() < 0.7:
            text += f" {behind}"
    else:
        text = f"a quiet view {behind or place}"
    if plan.horizon > 0 and plan.hung != "none" and rng.random() < 0.45:
        text += f", and {_draw(rng, HANGING[plan.hung])}"
    draw = rng.random()
    if draw < 0.24:
        text = OPENINGS[int(rng.integers(len(OPENINGS)))] + text
    elif draw < 0.42:
        text += ENDINGS[int(rng.integers(len(ENDINGS)))]
    return text[0].upper() + text[1:] + "."


def _lies_flat(plan: Plan) -> bool:
    """Flowers do not grow on tables, nor towards somebody who stands above them."""
    return plan.ground == "wood" or plan.horizon < 0


def _counted(plan: Plan, thing: str) -> str:
    """The thing's name, in the plural where several are shown."""
    several = sum(spot.name == thing for spot in plan.placed) > 1
    return f"{thing}s" if several and f"{thing}s" in NAMES else thing


# ---------------------------------------------------------------------------------------------------------------------
# Painting
# ---------------------------------------------------------------------------------------------------------------------


def _paint(plan: Plan, rng: np.random.Generator) -> np.ndarray:
    """The plan as a colour picture, (height, width, 3) uint8."""
    canvas = Image.new("RGB", (plan.width, plan.height))
    light = np.array(LIGHT[plan.hour]) * rng.uniform(0.85, 1.12) * rng.uniform(0.96, 1.04, 3)
    if plan.horizon < 0:
        canvas.paste(_patch(plan.ground, plan.width, plan.height, rng.uniform(0.65, 1.3), light, rng))
    else:
        _paint_view(canvas, plan, light, rng)
        top = round(plan.horizon)
        ground = _crop(_ground(plan.ground), plan.width, plan.height - top, rng, keep_top=True)
        canvas.paste(_tinted(ground, plan.ground, light, rng), (0, top))
    for spot in plan.placed:
        _paint_thing(canvas, spot, plan, light, rng)
    return _develop(canvas, rng)


def _crop(plate: Image.Image, width: int, height: int, rng: np.random.Generator, keep_top: bool = False) -> Image.Image:
    """A random part of a plate, as large as it fits or up to 1.5 times nearer, mirrored half of the time."""
    scale = max(width / plate.width, height / plate.height) * rng.uniform(1.0, 1.5)
    if keep_top:
        scale = max(scale, 0.55)
    w, h = width / scale, height / scale
    x, y = rng.uniform(0, plate.width - w), 0.0 if keep_top else rng.uniform(0, plate.height - h)
    part = plate.resize((width, height), BILINEAR, box=(x, y, x + w, y + h))
    return ImageOps.mirror(part) if rng.random() < 0.5 else part


def _tinted(grey: Image.Image, texture: str, light: np.ndarray, rng: np.random.Generator) -> Image.Image:
    colours = COLOURS[texture][int(rng.integers(len(COLOURS[texture])))]
    dark, middle, bright = (tuple(int(c) for c in np.clip(np.array(tone) * light, 0, 255)) for tone in colours)
    return ImageOps.colorize(grey, dark, bright, middle)


def _patch(
    texture: str, width: int, height: int, scale: float, light: np.ndarray, rng: np.random.Generator
) -> Image.Image:
    """A texture seen from the front."""
    # Within one tile where possible, as its mirror images show.
    x, y = (rng.uniform(0, max(512 - side / scale, 0)) for side in (width, height))
    box = (x, y, x + width / scale, y + height / scale)
    return _tinted(_wall(texture).resize((width, height), BILINEAR, box=box), texture, light, rng)


def _paint_view(canvas: Image.Image, plan: Plan, light: np.ndarray, rng: np.random.Generator) -> None:
    """Everything above the horizon."""
    width, top = plan.width, max(round(plan.horizon), 1)
    if plan.behind in ("bricks", "plaster"):
        canvas.paste(_patch(plan.behind, width, top, rng.uniform(0.63, 1.1), light * rng.uniform(0.75, 1.05), rng))
        if plan.hung != "none":
            _paint_hanging(canvas, plan, light, rng)
        shade = Image.new("L", (width, 5), 90)
        canvas.paste((0, 0, 0), (0, top - 5), shade)
        return
    if plan.behind in ("lake", "leaves"):
        view = _lit(_crop(_backdrop(plan.behind).convert("RGB"), width, top + 2, rng), light * rng.uniform(0.85, 1.08))
        canvas.paste(view.filter(ImageFilter.GaussianBlur(rng.uniform(0, 1.2))))
        return
    sky = _crop(_sky(plan.sky), width, top, rng)
    if plan.behind == "launch":
        plate = _backdrop("launch").convert("RGB")
        scale = max(width / plate.width, top / plate.height) * rng.uniform(1.0, 1.5)
        w, h = width / scale, top / scale
        x = float(np.clip(240 + rng.uniform(-0.35, 0.35) * w - w / 2, 0, plate.width - w))
        pad = plate.resize((width, top), BILINEAR, box=(x, plate.height - h, x + w, plate.height))
        sky = ImageChops.lighter(_lit(pad, np.full(3, rng.uniform(0.8, 1.3))), _lit(sky, np.full(3, 0.55)))
    elif plan.hour == "night":
        sky = ImageChops.add(sky, Image.new("RGB", sky.size, (8, 12, int(rng.integers(22, 44)))))
    canvas.paste(sky)
    if plan.moon:
        size = round(plan.height * rng.uniform(0.12, 0.3))
        moon = _moon().resize((size, size), BILINEAR)
        canvas.paste(moon, (int(rng.uniform(-0.2, 0.95) * width), int(rng.uniform(-0.1, 0.45) * top)), moon)
    far = light * rng.uniform(0.8, 1.0)
    if plan.behind == "city":
        strip = _lit(_backdrop("city"), far * (0.5 if plan.hour == "night" else 1.0))
        high = round(plan.height * rng.uniform(0.2, 0.34))
        wide = round(strip.width * high / strip.height * rng.uniform(1.0, 1.4))
        strip = strip.resize((wide, high), BILINEAR)
        for k, x in enumerate(range(-int(rng.integers(wide)), width, wide)):
            tile = ImageOps.mirror(strip) if k % 2 else strip
            canvas.paste(tile, (x, top - high), tile)
    if plan.behind == "pagoda":
        view = _lit(_backdrop("pagoda"), far)
        high = max(round(top * rng.uniform(0.6, 0.98)), 20)
        view = view.resize((round(view.width * high / view.height), high), BILINEAR, reducing_gap=2.0)
        if rng.random() < 0.5:
            view = ImageOps.mirror(view)
        x = int(rng.uniform(-0.25, 0.9) * width - 0.2 * view.width)
        canvas.paste(view, (x, top - round(0.92 * high)), view)
    if plan.behind in ("trees", "pagoda"):
        x = -int(rng.integers(60))
        while x < width:
            high = round(plan.height * rng.uniform(0.12, 0.42 if plan.behind == "trees" else 0.2))
            tree = _lit(_backdrop("trees"), far * rng.uniform(0.85, 1.15))
            tree = tree.resize((round(high * rng.uniform(1.5, 2.4)), high), BILINEAR, reducing_gap=2.0)
            tree = ImageOps.mirror(tree) if rng.random() < 0.5 else tree
            canvas.paste(tree, (x, top - round(0.93 * high)), tree)
            x += round(tree.width * rng.uniform(0.45, 0.8))


def _paint_hanging(canvas: Image.Image, plan: Plan, light: np.ndarray, rng: np.random.Generator) -> None:
    """A window or a framed picture on the wall."""
    high = round(plan.horizon * rng.uniform(0.5, 0.85))
    wide = round(min(high * rng.uniform(0.8, 1.4), 0.6 * plan.width))
    x, y = int(rng.uniform(0.02, 0.98) * (plan.width - wide)), int(rng.uniform(0.1, 0.9) * (plan.horizon - high))
    tone = ((236, 232, 222), (96, 62, 38), (40, 38, 40), (168, 172, 170))[int(rng.integers(4))]
    frame = tuple(int(c) for c in np.clip(np.array(tone) * light, 0, 255))
    edge = max(3, round(0.05 * high))
    shade = Image.new("L", (wide + 2 * edge, high + 2 * edge))
    ImageDraw.Draw(shade).rectangle((edge, edge, wide + edge, high + edge), fill=150)
    canvas.paste((0, 0, 0), (x - edge + 2, y - edge + 3), shade.filter(ImageFilter.GaussianBlur(2.5)))
    pen = ImageDraw.Draw(canvas)
    pen.rectangle((x, y, x + wide - 1, y + high - 1), fill=frame)
    inside = (wide - 2 * edge, high - 2 * edge)
    if min(inside) < 4:
        return
    glow = np.full(3, 1.0) if plan.hung in ("stars", "view") else np.sqrt(light)
    canvas.paste(_lit(_crop(_hanging(plan.hung), *inside, rng), glow), (x + edge, y + edge))
    if plan.hung in ("view", "dark", "stars"):
        half = max(1, edge // 3)
        pen.rectangle((x + wide // 2 - half, y, x + wide // 2 + half, y + high - 1), fill=frame)
        pen.rectangle((x, y + high // 2 - half, x + wide - 1, y + high // 2 + half), fill=frame)


def _lit(picture: Image.Image, light: np.ndarray, contrast: float = 1.0) -> Image.Image:
    """A picture under a light, its transparency unchanged."""
    levels = np.clip((np.arange(256) - 110) * contrast + 110, 0, 255)
    table = [int(v) for factor in light for v in np.clip(levels * factor, 0, 255)]
    return picture.point(table + list(range(256)) * (picture.mode == "RGBA"))


def _paint_thing(canvas: Image.Image, spot: Placed, plan: Plan, light: np.ndarray, rng: np.random.Generator) -> None:
    """A thing with its shadow."""
    stance = THINGS[spot.name].stance
    flat = stance == "lies" or (stance == "grows" and _lies_flat(plan))
    cut = _coin(int(rng.integers(24))) if spot.name == "coins" else _cutout(spot.name)
    tone = light * rng.uniform(0.85, 1.15) * rng.uniform(0.97, 1.03, 3)
    if spot.name == "coins":
        tone = tone * np.array(((1.0, 1.0, 0.98), (1.1, 0.86, 0.45), (0.98, 0.66, 0.46))[int(rng.integers(3))])
    cut = _lit(ImageOps.mirror(cut) if spot.mirror and spot.name != "page" else cut, tone, rng.uniform(0.85, 1.2))
    height, width = spot.height, spot.height * cut.width / cut.height
    if spot.name in ("coins", "page", "flower") and (flat or spot.name == "flower"):
        tilt = 1.0 if plan.horizon < 0 or spot.name == "flower" else 0.6
        if spot.name == "flower" and not flat:
            height *= 0.55
            width *= 0.55
        elif spot.name == "flower" and plan.horizon > 0:
            height *= 0.6
            width *= 0.6
        cut = cut.resize((max(4, round(width)), max(4, round(height))), BILINEAR, reducing_gap=2.0)
        cut = cut.rotate(spot.turn * (25 if spot.name == "page" else 180), Image.Resampling.BICUBIC, expand=True)
        size = (cut.width, max(4, round(cut.height * tilt)))
    else:
        size = (max(4, round(width)), max(4, round(height)))
    if size != cut.size:
        cut = cut.resize(size, BILINEAR, reducing_gap=2.0)
    x, y = round(spot.x - cut.width / 2), round(spot.foot - cut.height)
    if stance == "grows" and not flat:
        y = round(spot.foot - spot.height)
        _paint_stem(canvas, spot, y + cut.height / 2, tone, rng)
    alpha = cut.getchannel("A")
    if flat:
        shift = max(1, round(0.03 * spot.height))
        canvas.paste((0, 0, 0), (x + shift, y + shift), _shadow(alpha, 0.5, 1.0 + shift / 2))
    elif stance == "stands":
        low = alpha.resize((cut.width, max(3, cut.height // 7)), BILINEAR)
        canvas.paste((0, 0, 0), (x, round(spot.foot) - round(0.7 * low.height)), _shadow(low, 0.6, 2.0))
    canvas.paste(cut, (x, y), alpha)


def _shadow(alpha: Image.Image, strength: float, blur: float) -> Image.Image:
    return alpha.point(lambda a: int(strength * a)).filter(ImageFilter.GaussianBlur(blur))


def _paint_stem(canvas: Image.Image, spot: Placed, top: float, tone: np.ndarray, rng: np.random.Generator) -> None:
    """A flower's stalk with two leaves."""
    green = tuple(int(c) for c in np.clip(np.array((58, 92, 34)) * tone, 0, 255))
    thick = max(2, round(0.03 * spot.height))
    lean = spot.x + 0.12 * spot.height * spot.turn
    pen = ImageDraw.Draw(canvas)
    pen.line((spot.x, top, (spot.x + lean) / 2 + thick, (top + spot.foot) / 2, lean, spot.foot), green, thick, "curve")
    for side in (-1, 1):
        y = top + (spot.foot - top) * rng.uniform(0.5, 0.75)
        x, long = (spot.x + lean) / 2, 0.2 * spot.height
        leaf = [(x, y), (x + side * 0.5 * long, y - 0.42 * long), (x + side * long, y - 0.5 * long)]
        pen.polygon([*leaf, (x + side * 0.6 * long, y - 0.1 * long)], green)


def _develop(canvas: Image.Image, rng: np.random.Generator) -> np.ndarray:
    """Lens and sensor: some blur, darker corners, contrast, noise."""
    if rng.random() < 0.4:
        canvas = canvas.filter(ImageFilter.GaussianBlur(rng.uniform(0.3, 0.9)))
    pixels = np.asarray(canvas, dtype=np.float32)
    y = np.linspace(-1, 1, canvas.height, dtype=np.float32)[:, None]
    x = np.linspace(-1, 1, canvas.width, dtype=np.float32)[None, :]
    contrast, middle = np.float32(rng.uniform(0.85, 1.15)), np.float32(118)
    corners = contrast * (1 - np.float32(rng.uniform(0, 0.14)) * (x * x + y * y))
    noise = rng.standard_normal(pixels.shape[:2], dtype=np.float32) * np.float32(rng.uniform(1.0, 4.0))
    noise += middle * (1 - contrast) + np.float32(rng.uniform(-8, 10))
    return np.clip(pixels * corners[..., None] + noise[..., None], 0, 255).astype(np.uint8)


# ---------------------------------------------------------------------------------------------------------------------
# The dataset
# ---------------------------------------------------------------------------------------------------------------------


def _name(number: int) -> str:
    return f"collage_{number:05d}"


def _number(image: str) -> int:
    match = re.fullmatch(r"collage_(\d{5,9})", image)
    if match is None or _name(int(match[1])) != image:
        raise ValueError(f"image must be a name such as 'collage_00042', got {image!r}")
    return int(match[1])


def read(
    *,
    smallest_side: int,
    longest_side: int = 320,
    n_images: int = 1800,
    seed: int = 0,
    fractions: Mapping[str, float] = FRACTIONS,
    progress: Progress | None = None,
) -> Photographs:
    """Name the pictures, tell their captions and draw their splits.

    smallest_side, longest_side: in pixels; pictures are shrunk to the latter and must then reach the former.
    n_images: at least 1. seed: of pictures, captions and splits. fractions: split -> its part, together 1.
    progress: called with the number of images done and of all.
    """
    if n_images < 1:
        raise ValueError(f"n_images must be at least 1, got {n_images}")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed}")
    rows: list[tuple[str, str]] = []
    left_out = {}
    for number in range(n_images):
        plan = _plan(number, seed)
        width, height = photographs.fitted_size(plan.width, plan.height, longest_side)
        if min(width, height) < smallest_side:
            left_out[_name(number)] = (
                f"too small: {width} x {height} pixels, the shorter side must be at least {smallest_side}"
            )
        rows += [(_name(number), line) for line in _captions(plan, np.random.default_rng((seed, number, 2)))]
        if progress:
            progress(number + 1, n_images)
    names = [_name(number) for number in range(n_images)]
    splits = photographs.draw_splits(names, fractions, np.random.default_rng(seed))
    return photographs.gather(splits, pd.DataFrame(rows, columns=["image", "caption"], dtype=str), left_out)


def photograph(image: str, *, seed: int = 0) -> np.ndarray:
    """One photograph in colour, (height, width, 3) uint8, from the seed and the number in its name alone.

    >>> photograph("collage_00042").shape[2]
    3
    """
    number = _number(image)
    return _paint(_plan(number, seed), np.random.default_rng((seed, number, 1)))


def picture(image: str, *, longest_side: int = 320, seed: int = 0, n_images: int = 1800, **options: Any) -> np.ndarray:
    """One photograph as grey levels in [0, 1], float32 (height, width), at most `longest_side` pixels long."""
    if _number(image) >= n_images:
        raise ValueError(f"image must be one of '{_name(0)}' to '{_name(n_images - 1)}', got {image!r}")
    grey = Image.fromarray(photograph(image, seed=seed)).convert("L")
    size = photographs.fitted_size(*grey.size, longest_side)
    if size != grey.size:
        grey = grey.resize(size, Image.Resampling.LANCZOS)
    return np.asarray(grey, dtype=np.float32) / np.float32(255)
