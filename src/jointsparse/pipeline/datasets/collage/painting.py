"""Paint photographs according to their plans."""

import numpy as np
from PIL import Image, ImageFilter, ImageOps

from jointsparse.pipeline.datasets.collage import materials
from jointsparse.pipeline.datasets.collage.plans import THINGS, Placed, Plan

BILINEAR = Image.Resampling.BILINEAR


def paint(plan: Plan, rng: np.random.Generator) -> np.ndarray:
    """Paint the planned photograph, and return it in colour, as an array (height, width, 3) of uint8."""
    canvas = Image.new("RGB", (plan.width, plan.height))
    canvas.paste(_part(materials.back(plan.back), plan.width, plan.horizon, rng))
    canvas.paste(_part(materials.ground(plan.ground), plan.width, plan.height - plan.horizon, rng), (0, plan.horizon))
    for spot in plan.placed:
        _paint_thing(canvas, spot, rng)
    return _develop(canvas, rng)


def _part(plate: Image.Image, width: int, height: int, rng: np.random.Generator) -> Image.Image:
    """Return a random part of a plate that fills the given size, mirrored with probability one half.

    The plate is scaled by the smallest factor with which it covers that size, times a random factor from 1 to 1.5.
    """
    scale = max(width / plate.width, height / plate.height) * rng.uniform(1.0, 1.5)
    w, h = width / scale, height / scale
    x, y = rng.uniform(0, plate.width - w), rng.uniform(0, plate.height - h)
    part = plate.resize((width, height), BILINEAR, box=(x, y, x + w, y + h))
    return ImageOps.mirror(part) if rng.random() < 0.5 else part


def _paint_thing(canvas: Image.Image, spot: Placed, rng: np.random.Generator) -> None:
    """Paint an object and its shadow onto the canvas."""
    cut = materials.thing(spot.name, int(rng.integers(len(materials.COINS))) if spot.name == "coins" else 0)
    mirrored = spot.name not in ("cat", "page") and rng.random() < 0.5
    if spot.name == "cat":  # it faces the middle, so that the edge of the photograph hides where its source is cut off
        mirrored = spot.x > canvas.width / 2
    if mirrored:
        cut = ImageOps.mirror(cut)
    cut = cut.resize((round(spot.height * cut.width / cut.height), round(spot.height)), BILINEAR, reducing_gap=2.0)
    flat = THINGS[spot.name].stance == "lies"
    if flat and spot.name != "coffee":
        cut = cut.rotate(
            rng.uniform(-1, 1) * (20 if spot.name == "page" else 180), Image.Resampling.BICUBIC, expand=True
        )
    x, y, alpha = round(spot.x - cut.width / 2), round(spot.foot - cut.height), cut.getchannel("A")
    low = alpha if flat else alpha.resize((cut.width, max(3, cut.height // 8)), BILINEAR)
    shadow = low.point(lambda a: a // 2).filter(ImageFilter.GaussianBlur(2.0))
    canvas.paste((0, 0, 0), (x + 3 * flat, round(spot.foot) - low.height + 3), shadow)
    factors = rng.uniform(0.85, 1.15) * rng.uniform(0.97, 1.03, 3)
    tones = [int(tone) for factor in factors for tone in np.clip(np.arange(256) * factor, 0, 255)]
    canvas.paste(cut.convert("RGB").point(tones), (x, y), alpha)


def _develop(canvas: Image.Image, rng: np.random.Generator) -> np.ndarray:
    """Simulate the lens and the sensor of a camera: blur some photographs, change the light, and add noise."""
    if rng.random() < 0.4:
        canvas = canvas.filter(ImageFilter.GaussianBlur(rng.uniform(0.3, 0.9)))
    noise = rng.standard_normal((canvas.height, canvas.width, 1), dtype=np.float32) * np.float32(rng.uniform(1.0, 4.0))
    light = rng.uniform(0.8, 1.15) * rng.uniform(0.95, 1.05, 3)
    return np.clip(np.asarray(canvas) * light.astype(np.float32) + noise, 0, 255).astype(np.uint8)
