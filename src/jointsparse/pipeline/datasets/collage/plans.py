"""Draw the plan of a photograph from a seed, and captions that describe the photograph."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from jointsparse.pipeline.datasets.collage.materials import TEXTURES, VIEWS


class Thing(NamedTuple):
    """How objects of one kind are placed in photographs.

    Attributes
    ----------
    stance : str
        "stands" or "lies" for an object on the ground, "cut" if the lower edge of the photograph cuts the object off.
    tall : tuple of two floats
        Smallest and largest height of the object, as fractions of the height of the photograph.
    most : int
        Largest number of such objects in a photograph.
    """

    stance: str
    tall: tuple[float, float]
    most: int = 1


THINGS = {
    "horse": Thing("stands", (0.45, 0.7), 2),
    "motorcycle": Thing("stands", (0.42, 0.62)),
    "man": Thing("cut", (0.6, 0.85)),
    "woman": Thing("cut", (0.65, 0.95)),
    "cat": Thing("cut", (0.6, 0.85)),
    "flower": Thing("lies", (0.3, 0.5), 3),
    "coffee": Thing("lies", (0.32, 0.5)),
    "coins": Thing("lies", (0.16, 0.24), 6),
    "page": Thing("lies", (0.3, 0.45)),
}
GROUNDS = tuple(TEXTURES)
BACKS = ("bricks", *VIEWS)

# Phrases with which captions name each object, ground and background (NAMES), and sentences about each (DETAILS).
NAMES: dict[str, tuple[str, ...]] = {
    "horse": ("a horse", "a black horse", "a dark animal"),
    "horses": ("two horses", "two black horses", "two dark animals"),
    "motorcycle": ("a red motorcycle", "a red bike", "a motorcycle", "a shiny bike"),
    "man": ("a man with a camera", "a photographer", "a man in a black coat"),
    "woman": ("a woman in an orange suit", "a smiling astronaut", "a smiling woman"),
    "cat": ("a cat", "a brown cat", "a brown kitten", "a curious animal"),
    "flower": ("an orange flower", "a flower", "an orange blossom"),
    "coffee": ("a cup of coffee", "a red cup", "a red cup with hot coffee"),
    "coins": ("old coins", "some coins", "a few metal coins"),
    "page": ("a sheet of paper", "a printed page", "a page of a book"),
    "on grass": ("on the grass", "on the green grass", "in a green meadow", "in a field"),
    "on gravel": ("on gravel", "on grey stones", "on small stones"),
    "on bricks": ("on a paved street", "on the pavement", "on the street"),
    "on wood": ("on a wooden table", "on a table", "on the wood of a desk"),
    "on sand": ("on the sand", "on the beach", "on dry sand"),
    "bricks": ("in front of a brick wall", "beside a brick building", "before a wall of bricks"),
    "temple": ("near a temple", "with an old temple in the background", "below an old tower among trees"),
    "rocket": ("near a rocket", "with a rocket in the background", "at the launch of a rocket"),
    "sky": ("under the blue sky", "under the sky", "on a bright day"),
    "stars": ("under the stars", "at night under many stars", "in a dark night"),
    "leaves": ("in a garden", "before dark leaves", "among the leaves of a garden"),
    "town": ("near the city", "with the city in the background", "before the buildings of a town"),
}
DETAILS: dict[str, tuple[str, ...]] = {
    "horse": ("The horse has a long tail.", "A black animal, tall and still."),
    "motorcycle": ("The wheels and the engine are clean.", "Its engine is shiny, its wheels are black."),
    "man": ("He films with his camera.", "The coat of the man is black."),
    "woman": ("The woman wears an orange suit.", "She holds a helmet, and she smiles."),
    "cat": ("The animal has green eyes and soft fur.", "Its fur is brown and its eyes are green."),
    "flower": ("The petals are orange.", "The flower has many petals."),
    "coffee": ("The cup and the saucer are red.", "Hot coffee in a red cup."),
    "coins": ("The metal is old and round.", "Old money, made of metal."),
    "page": ("The text on the paper is about a book.", "One can read the printed text."),
    "on grass": ("The grass is green.", "Green grass in the field."),
    "on gravel": ("There are many small stones.", "Grey stones everywhere."),
    "on bricks": ("The street is empty.", "The pavement is clean."),
    "on wood": ("The wooden table is brown.", "Brown wood, a desk perhaps."),
    "on sand": ("The sand is dry.", "The beach is empty."),
    "bricks": ("The wall is made of bricks.", "A brick wall of an old building."),
    "temple": ("The temple has red roofs.", "An old tower with many roofs."),
    "rocket": ("The rocket is white and high.", "The launch of the rocket is near."),
    "sky": ("The sky is bright and blue.", "A bright day, a blue sky."),
    "stars": ("Stars shine in the dark sky.", "It is a dark night with many stars."),
    "leaves": ("The garden is dark green.", "Large leaves in the garden."),
    "town": ("The city is near.", "There are buildings in the background."),
}
# Openings, endings and whole sentences that nothing in the picture explains.
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


class Placed(NamedTuple):
    """An object in a photograph: its horizontal centre `x`, its lower edge `foot`, and its height, in pixels."""

    name: str
    x: float
    foot: float
    height: float


class Plan(NamedTuple):
    """Everything that a photograph shows and that its captions may mention.

    Lengths are in pixels. `horizon` is the distance of the horizon from the upper edge.
    """

    width: int
    height: int
    horizon: int
    back: str
    ground: str
    things: tuple[str, ...]
    placed: tuple[Placed, ...]

    @property
    def causes(self) -> tuple[str, ...]:
        """The keys under which NAMES and DETAILS describe the objects, the ground and the background of this plan."""
        return (*self.things, f"on {self.ground}", self.back)


def plan_of(number: int, seed: int) -> Plan:
    """Draw the plan of a photograph. The objects, the ground and the background are drawn independently."""
    rng = np.random.default_rng((seed, number, 0))
    width, height = int(rng.integers(300, 321)), int(rng.integers(224, 249))
    if rng.random() < 0.25:
        width, height = height, width
    horizon = round(height * rng.uniform(0.3, 0.6))
    back, ground = (str(rng.choice(names)) for names in (BACKS, GROUNDS))
    things = tuple(map(str, rng.permutation(list(THINGS))[: rng.integers(1, 3)]))
    placed = []
    for slot, name in enumerate(things):
        stance, tall, most = THINGS[name]
        for _ in range(int(rng.integers(min(2, most), most + 1)) if most != 2 else int(rng.integers(1, 3))):
            high = min(height, 1.2 * width) * rng.uniform(*tall)
            x = width * (slot + rng.uniform(0.2, 0.8)) / len(things)  # each kind of object gets its part of the width
            foot = rng.uniform(max(horizon + 0.3 * high, 0.6 * height), 1.02 * height)
            if stance == "cut":
                foot = height + 0.03 * high
            if name == "cat":  # its source picture is cut off at one side
                x = 0.45 * high if x < width / 2 else width - 0.45 * high
            placed.append(Placed(name, x, foot, high))
    placed.sort(key=lambda spot: (THINGS[spot.name].stance == "cut", spot.foot))
    return Plan(width, height, horizon, back, ground, things, tuple(placed))


def captions_of(plan: Plan, rng: np.random.Generator) -> list[str]:
    """Draw three to five captions of a photograph, as if several people had noticed and named different things."""
    details = [line for cause in plan.causes for line in DETAILS[cause]]
    n_lines, lines = int(rng.integers(3, 6)), [_sentence(plan, rng)]
    while len(lines) < n_lines:
        line = str(rng.choice([_sentence(plan, rng), rng.choice(details), rng.choice(ASIDES)], p=[0.45, 0.4, 0.15]))
        if line not in lines:
            lines.append(line)
    return lines


def _sentence(plan: Plan, rng: np.random.Generator) -> str:
    """Draw a sentence that names one or two objects and perhaps the ground and the background."""
    number = Counter(spot.name for spot in plan.placed)
    counted = [f"{name}s" if f"{name}s" in NAMES and number[name] > 1 else name for name in plan.things]
    named = [str(rng.choice(NAMES[name])) for name in rng.permutation(counted)[: rng.integers(1, 3)]]
    place, behind = (str(rng.choice(NAMES[cause])) for cause in plan.causes[-2:])
    text = " ".join([" and ".join(named), *([place] if rng.random() < 0.8 else []), *([behind] * (rng.random() < 0.6))])
    draw = rng.random()
    if draw < 0.24:
        text = str(rng.choice(OPENINGS)) + text
    elif draw < 0.42:
        text += str(rng.choice(ENDINGS))
    return f"{text[0].upper()}{text[1:]}."
