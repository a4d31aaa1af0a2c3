"""Paint a planned photograph from cut-outs, textures and backgrounds."""

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps

from jointsparse.datasets.collage import cutouts
from jointsparse.datasets.collage.scenes import COLOURS, LIGHT, THINGS, Colour, Placed, Plan
from jointsparse.datasets.collage.sentences import lies_flat


def paint(plan: Plan, rng: np.random.Generator) -> np.ndarray:
    """The plan as a colour picture, (height, width, 3) uint8."""
    canvas = Image.new("RGB", (plan.width, plan.height))
    light = np.array(LIGHT[plan.hour]) * rng.uniform(0.85, 1.12) * rng.uniform(0.96, 1.04, 3)
    if plan.horizon < 0:
        canvas.paste(_patch(plan.ground, plan.width, plan.height, rng.uniform(0.65, 1.3), light, rng))
    else:
        _paint_view(canvas, plan, light, rng)
        top = round(plan.horizon)
        ground = _crop(cutouts.ground(plan.ground), plan.width, plan.height - top, rng, keep_top=True)
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
    part = plate.resize((width, height), cutouts.BILINEAR, box=(x, y, x + w, y + h))
    return _perhaps_mirrored(part, rng)


def _perhaps_mirrored(picture: Image.Image, rng: np.random.Generator) -> Image.Image:
    return ImageOps.mirror(picture) if rng.random() < 0.5 else picture


def _tinted(grey: Image.Image, texture: str, light: np.ndarray, rng: np.random.Generator) -> Image.Image:
    colours = COLOURS[texture][int(rng.integers(len(COLOURS[texture])))]
    dark, middle, bright = (_colour(tone, light) for tone in colours)
    return ImageOps.colorize(grey, dark, bright, middle)


def _colour(tone: Colour, light: np.ndarray) -> Colour:
    """A colour under a light."""
    red, green, blue = (int(level) for level in np.clip(np.array(tone) * light, 0, 255))
    return red, green, blue


def _patch(
    texture: str, width: int, height: int, scale: float, light: np.ndarray, rng: np.random.Generator
) -> Image.Image:
    """A texture seen from the front."""
    # Within one tile where possible, as its mirror images show.
    x, y = (rng.uniform(0, max(512 - side / scale, 0)) for side in (width, height))
    box = (x, y, x + width / scale, y + height / scale)
    return _tinted(cutouts.wall(texture).resize((width, height), cutouts.BILINEAR, box=box), texture, light, rng)


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
        view = _lit(
            _crop(cutouts.backdrop(plan.behind).convert("RGB"), width, top + 2, rng), light * rng.uniform(0.85, 1.08)
        )
        canvas.paste(view.filter(ImageFilter.GaussianBlur(rng.uniform(0, 1.2))))
        return
    sky = _crop(cutouts.sky(plan.sky), width, top, rng)
    if plan.behind == "launch":
        plate = cutouts.backdrop("launch").convert("RGB")
        scale = max(width / plate.width, top / plate.height) * rng.uniform(1.0, 1.5)
        w, h = width / scale, top / scale
        x = float(np.clip(240 + rng.uniform(-0.35, 0.35) * w - w / 2, 0, plate.width - w))
        pad = plate.resize((width, top), cutouts.BILINEAR, box=(x, plate.height - h, x + w, plate.height))
        sky = ImageChops.lighter(_lit(pad, np.full(3, rng.uniform(0.8, 1.3))), _lit(sky, np.full(3, 0.55)))
    elif plan.hour == "night":
        sky = ImageChops.add(sky, Image.new("RGB", sky.size, (8, 12, int(rng.integers(22, 44)))))
    canvas.paste(sky)
    if plan.moon:
        size = round(plan.height * rng.uniform(0.12, 0.3))
        moon = cutouts.moon().resize((size, size), cutouts.BILINEAR)
        canvas.paste(moon, (int(rng.uniform(-0.2, 0.95) * width), int(rng.uniform(-0.1, 0.45) * top)), moon)
    far = light * rng.uniform(0.8, 1.0)
    if plan.behind == "city":
        strip = _lit(cutouts.backdrop("city"), far * (0.5 if plan.hour == "night" else 1.0))
        high = round(plan.height * rng.uniform(0.2, 0.34))
        wide = round(strip.width * high / strip.height * rng.uniform(1.0, 1.4))
        strip = strip.resize((wide, high), cutouts.BILINEAR)
        for k, x in enumerate(range(-int(rng.integers(wide)), width, wide)):
            tile = ImageOps.mirror(strip) if k % 2 else strip
            canvas.paste(tile, (x, top - high), tile)
    if plan.behind == "pagoda":
        view = _lit(cutouts.backdrop("pagoda"), far)
        high = max(round(top * rng.uniform(0.6, 0.98)), 20)
        view = view.resize((round(view.width * high / view.height), high), cutouts.BILINEAR, reducing_gap=2.0)
        view = _perhaps_mirrored(view, rng)
        x = int(rng.uniform(-0.25, 0.9) * width - 0.2 * view.width)
        canvas.paste(view, (x, top - round(0.92 * high)), view)
    if plan.behind in ("trees", "pagoda"):
        x = -int(rng.integers(60))
        while x < width:
            high = round(plan.height * rng.uniform(0.12, 0.42 if plan.behind == "trees" else 0.2))
            tree = _lit(cutouts.backdrop("trees"), far * rng.uniform(0.85, 1.15))
            tree = tree.resize((round(high * rng.uniform(1.5, 2.4)), high), cutouts.BILINEAR, reducing_gap=2.0)
            tree = _perhaps_mirrored(tree, rng)
            canvas.paste(tree, (x, top - round(0.93 * high)), tree)
            x += round(tree.width * rng.uniform(0.45, 0.8))


def _paint_hanging(canvas: Image.Image, plan: Plan, light: np.ndarray, rng: np.random.Generator) -> None:
    """A window or a framed picture on the wall."""
    high = round(plan.horizon * rng.uniform(0.5, 0.85))
    wide = round(min(high * rng.uniform(0.8, 1.4), 0.6 * plan.width))
    x, y = int(rng.uniform(0.02, 0.98) * (plan.width - wide)), int(rng.uniform(0.1, 0.9) * (plan.horizon - high))
    tone = ((236, 232, 222), (96, 62, 38), (40, 38, 40), (168, 172, 170))[int(rng.integers(4))]
    frame = _colour(tone, light)
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
    canvas.paste(_lit(_crop(cutouts.hanging(plan.hung), *inside, rng), glow), (x + edge, y + edge))
    if plan.hung in ("view", "dark", "stars"):
        half = max(1, edge // 3)
        pen.rectangle((x + wide // 2 - half, y, x + wide // 2 + half, y + high - 1), fill=frame)
        pen.rectangle((x, y + high // 2 - half, x + wide - 1, y + high // 2 + half), fill=frame)


def _lit(picture: Image.Image, light: np.ndarray, contrast: float = 1.0) -> Image.Image:
    """A picture under a light, its transparency unchanged."""
    tones = np.clip((np.arange(256) - 110) * contrast + 110, 0, 255)
    table = [int(tone) for factor in light for tone in np.clip(tones * factor, 0, 255)]
    return picture.point(table + list(range(256)) * (picture.mode == "RGBA"))


def _paint_thing(canvas: Image.Image, spot: Placed, plan: Plan, light: np.ndarray, rng: np.random.Generator) -> None:
    """A thing with its shadow."""
    stance = THINGS[spot.name].stance
    flat = stance == "lies" or (stance == "grows" and lies_flat(plan))
    cut = cutouts.coin(int(rng.integers(24))) if spot.name == "coins" else cutouts.cutout(spot.name)
    tone = light * rng.uniform(0.85, 1.15) * rng.uniform(0.97, 1.03, 3)
    if spot.name == "coins":
        tone = tone * np.array(((1.0, 1.0, 0.98), (1.1, 0.86, 0.45), (0.98, 0.66, 0.46))[int(rng.integers(3))])
    cut = _lit(ImageOps.mirror(cut) if spot.mirror and spot.name != "page" else cut, tone, rng.uniform(0.85, 1.2))
    height, width = spot.height, spot.height * cut.width / cut.height
    if spot.name in ("coins", "page", "flower") and (flat or spot.name == "flower"):
        tilt = 1.0 if plan.horizon < 0 or spot.name == "flower" else 0.6
        shrink = 1.0
        if spot.name == "flower" and not flat:
            shrink = 0.55
        elif spot.name == "flower" and plan.horizon > 0:
            shrink = 0.6
        height, width = shrink * height, shrink * width
        cut = cut.resize((max(4, round(width)), max(4, round(height))), cutouts.BILINEAR, reducing_gap=2.0)
        cut = cut.rotate(spot.turn * (25 if spot.name == "page" else 180), Image.Resampling.BICUBIC, expand=True)
        size = (cut.width, max(4, round(cut.height * tilt)))
    else:
        size = (max(4, round(width)), max(4, round(height)))
    if size != cut.size:
        cut = cut.resize(size, cutouts.BILINEAR, reducing_gap=2.0)
    x, y = round(spot.x - cut.width / 2), round(spot.foot - cut.height)
    if stance == "grows" and not flat:
        y = round(spot.foot - spot.height)
        _paint_stem(canvas, spot, y + cut.height / 2, tone, rng)
    alpha = cut.getchannel("A")
    if flat:
        shift = max(1, round(0.03 * spot.height))
        canvas.paste((0, 0, 0), (x + shift, y + shift), _shadow(alpha, 0.5, 1.0 + shift / 2))
    elif stance == "stands":
        low = alpha.resize((cut.width, max(3, cut.height // 7)), cutouts.BILINEAR)
        canvas.paste((0, 0, 0), (x, round(spot.foot) - round(0.7 * low.height)), _shadow(low, 0.6, 2.0))
    canvas.paste(cut, (x, y), alpha)


def _shadow(alpha: Image.Image, strength: float, blur: float) -> Image.Image:
    return alpha.point(lambda a: int(strength * a)).filter(ImageFilter.GaussianBlur(blur))


def _paint_stem(canvas: Image.Image, spot: Placed, top: float, tone: np.ndarray, rng: np.random.Generator) -> None:
    """A flower's stalk with two leaves."""
    green = _colour((58, 92, 34), tone)
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
