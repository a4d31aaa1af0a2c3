"""Captions that say what a planned photograph shows."""

import numpy as np

from jointsparse.datasets.collage.scenes import (
    ASIDES,
    BEHIND,
    DETAILS,
    ENDINGS,
    HANGING,
    HOURS,
    NAMES,
    OPENINGS,
    PLACES,
    VERBS,
    Plan,
    choose,
)


def captions_of(plan: Plan, rng: np.random.Generator) -> list[str]:
    """Three to five sentences about the plan, as if by several people, who see and name different things."""
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
    """The visible things that sentences about details know."""
    causes = [*plan.things, "pavement" if plan.ground == "bricks" else plan.ground]
    if plan.horizon > 0:
        causes += [plan.behind] + ["moon"] * plan.moon
    return [cause for cause in causes if cause in DETAILS]


def _sentence(plan: Plan, rng: np.random.Generator) -> str:
    """One sentence about the whole scene."""
    place = choose(rng, PLACES[plan.ground])
    behind = choose(rng, BEHIND[plan.behind]) if plan.horizon > 0 and plan.behind in BEHIND else ""
    if plan.things:
        order = list(rng.permutation(plan.things))
        names = [choose(rng, NAMES[_counted(plan, thing)]) for thing in order]
        verb = choose(rng, VERBS[_counted(plan, order[0])])
        if order[0] == "flower" and lies_flat(plan):
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
        text += f", and {choose(rng, HANGING[plan.hung])}"
    draw = rng.random()
    if draw < 0.24:
        text = OPENINGS[int(rng.integers(len(OPENINGS)))] + text
    elif draw < 0.42:
        text += ENDINGS[int(rng.integers(len(ENDINGS)))]
    return text[0].upper() + text[1:] + "."


def lies_flat(plan: Plan) -> bool:
    """Flowers do not grow on tables, nor towards somebody who stands above them."""
    return plan.ground == "wood" or plan.horizon < 0


def _counted(plan: Plan, thing: str) -> str:
    """The thing's name, in the plural where several are shown."""
    several = sum(spot.name == thing for spot in plan.placed) > 1
    return f"{thing}s" if several and f"{thing}s" in NAMES else thing
