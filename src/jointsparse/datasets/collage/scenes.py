"""Tables of what a composed photograph may show, and the plan of one drawn from a seed."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

Colour = tuple[int, int, int]
Choices = Mapping[str, float]  # what may be drawn -> its weight

# ---------------------------------------------------------------------------------------------------------------------
# Sources, colours and scenes
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

CAT_SHAPE = 1.32  # width divided by height of the cat's cut-out; a plan opens no pictures

# The light of an hour: factors of red, green, blue on grounds and things.
LIGHT: dict[str, tuple[float, float, float]] = {
    "day": (1.0, 1.0, 0.97),
    "indoors": (1.0, 0.93, 0.82),
    "dusk": (0.66, 0.50, 0.45),
    "night": (0.46, 0.50, 0.62),
}


class Thing(NamedTuple):
    """The way a thing is put into a picture.

    stance: "stands", "grows" or "lies" on the ground at any depth. A thing that is "cut" goes beyond the lower edge, a
    "close" one beyond both. tall: height in units of the horizon's height above the foot (stands, grows, lies) or of
    the picture's height (cut, close). most: number of them in a picture.
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
    """A kind of picture: the things that may be drawn, with weights. hung: windows and frames on a wall behind."""

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
# Words for captions
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
# The plan of a picture
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
    """Everything that the picture shows and its captions may name."""

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


def choose(rng: np.random.Generator, choices: Choices) -> str:
    weights = np.fromiter(choices.values(), dtype=float)
    return list(choices)[int(np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(), side="right"))]


def plan_of(number: int, seed: int) -> Plan:
    """Picture `number`, drawn from the scenes' tables."""
    rng = np.random.default_rng((seed, number, 0))
    width, height = int(rng.integers(300, 321)), int(rng.integers(224, 249))
    upright = rng.random() < 0.3
    name = choose(rng, {name: scene.weight for name, scene in SCENES.items()})
    scene = SCENES[name]
    hour = choose(rng, scene.hours)
    left = dict(scene.things)
    things: list[str] = []
    for _ in range(int(rng.integers(scene.n_things[0], scene.n_things[1] + 1))):
        thing = choose(rng, left)
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
    hung = choose(rng, scene.hung) if scene.hung else "none"
    if hung == "view" and hour == "night":
        hung = "dark"
    placed = [spot for thing in things for spot in _place(rng, thing, width, height, horizon)]
    placed.sort(key=lambda spot: (THINGS[spot.name].stance in ("cut", "close"), spot.foot))
    behind = choose(rng, scene.behind)
    moonlit = {"night": 0.65, "dusk": 0.3}.get(hour, 0.0) if behind not in ("launch", "bricks") else 0.0
    return Plan(
        width=width,
        height=height,
        scene=name,
        hour=hour,
        sky=choose(rng, {"clear": 1, "cloudy": 1.2}) if hour in ("day", "indoors") else hour,
        behind=behind,
        ground=choose(rng, scene.ground),
        horizon=horizon,
        hung=hung,
        moon=bool(rng.random() < moonlit),
        things=tuple(things),
        placed=tuple(placed),
    )


def _place(rng: np.random.Generator, name: str, width: int, height: int, horizon: float) -> list[Placed]:
    """Places for a thing, or for several of a kind."""
    thing = THINGS[name]
    count = int(rng.integers(min(2, thing.most - 1), thing.most + 1)) if thing.most > 1 else 1
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
