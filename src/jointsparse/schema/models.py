"""Checks of a whole model from a file: an estimator of jointsparse, or a Pipeline whose steps fit each other.

Classes of jointsparse declare what they hold (see `schema`). Classes of scikit-learn are checked in general: they must
hold only strings and finite numbers, and no attribute that hides a method. The attributes that a run adds to a Pipeline
are declared here and not in `pipeline.models.annotator`, because model files are also loaded without the pipeline.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from jointsparse.checks import Versioned, require
from jointsparse.schema import (
    FLOATS,
    INTEGERS,
    MOST_LETTERS,
    NOTHING,
    PLAIN,
    TEXT,
    Sizes,
    Spec,
    array,
    brief,
    either,
    list_of,
    mapping,
    matrix,
    number,
    optional,
    plain_or,
    require_like,
    simple,
    size,
    whole,
)

# Prefixes of the scikit-learn classes that a file may hold: transformers that compute with arrays, and Pipelines. Other
# classes have parts, such as the nodes of a decision tree, that compiled code would follow to any place in memory.
ROOMS = tuple(
    f"sklearn.{room}."
    for room in (
        *("compose", "decomposition", "feature_extraction", "feature_selection", "impute", "kernel_approximation"),
        *("pipeline", "preprocessing", "random_projection"),
    )
)
WITH_NAN = ("sklearn.impute.", "sklearn.preprocessing._encoders.")  # classes in which NaN stands for missing values
SCALERS = ("MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler")  # vectors have one number per feature
# Steps of a model that a run has saved.
STEPS = re.compile(r"(DenseSift VocabularyTree |Embedding )?(SVDBasis )?JointSparseClassifierCV")
LARGEST_SCORE = 1e15  # Choice: squares of scores are finite in single precision
MOST_CHECKED = 1000  # largest number of images in `check_`
NUMBERS = ("images", "test_images", "auc", "auc_low", "auc_high", "average_precision")  # numbers per word in a card


def _is_json(value: Any) -> bool:
    with suppress(TypeError, ValueError, RecursionError):
        return len(json.dumps(value)) <= 10 * MOST_LETTERS
    return False


JSON = simple(f"text, numbers and lists of them, with at most {10 * MOST_LETTERS:,} letters", _is_json)
NUMBER = either(NOTHING, number(nan=True))
CARD = {
    "words": list_of(TEXT, "tasks"),
    "known_images": size("known"),
    **dict.fromkeys(("norm", "loss"), optional(TEXT)),
    "radius": optional(NUMBER),
    "features": optional(list_of(whole())),
    "numbers": optional(list_of(mapping({"word": TEXT, **dict.fromkeys(NUMBERS, NUMBER)}, JSON))),
}


def _scores(*shape: str) -> Spec:
    return array(FLOATS, *shape, low=-LARGEST_SCORE, high=LARGEST_SCORE)


CHECK = {
    "first_step": whole(),
    "X": matrix("rows", "in"),
    "scores": either(_scores("rows"), _scores("rows", "tasks")),
}
KEPT = {
    "known_scores_": _scores("known", "tasks"),
    "known_labels_": array((np.dtype(bool), *INTEGERS), "known", "tasks", low=-1, high=1),
    "known_names_": list_of(TEXT, "known"),
    "card_": mapping(CARD, JSON),
    "columns_": list_of(TEXT),
    "check_": mapping(CHECK),
}
OF_USERS = {"check_": optional(KEPT["check_"]), "card_": optional(JSON), "columns_": optional(PLAIN)}
CHAIN = {
    "steps": simple(
        "a list of pairs, at least one",
        lambda steps: type(steps) is list and steps and all(type(step) is tuple and len(step) == 2 for step in steps),
    ),
    "memory": NOTHING,
    "verbose": PLAIN,
    "transform_input": PLAIN,
}


def require_model(model: Any) -> None:
    """Raise ValueError unless a model from a file holds values whose types, sizes and ranges `fit` can produce."""
    from sklearn.base import BaseEstimator

    require(isinstance(model, BaseEstimator), f"it must hold an estimator, got {brief(model)}")
    _compare(model, type(model).__name__)


def _compare(part: Any, name: str) -> Sizes:
    """Check a part of a model against what its class declares, and return its sizes: "in", "out" and others."""
    from sklearn.pipeline import Pipeline

    if not isinstance(part, Versioned):
        return _compare_chain(part, name) if type(part) is Pipeline else _compare_others(part, name)
    specs, sizes = declared(part), Sizes()
    require_like(_known(part, name, specs), specs, name, sizes)
    part._require_consistent(sizes)
    return sizes


def declared(part: Versioned) -> dict[str, Spec]:
    """Return the specifications that the class of a part declares for its fitted attributes and its parameters."""
    specs = dict.fromkeys(_parameters(part), PLAIN)
    for kind in reversed(type(part).__mro__):
        specs |= vars(kind).get("_HOLDS", {})
    return specs


def _parameters(part: Any) -> list[str]:
    return list(part._get_param_names())


def _known(part: Any, name: str, specs: Container[str]) -> dict[str, Any]:
    """Return the attributes that have a specification. Raise ValueError if an attribute without one may be harmful."""
    values = vars(part)
    for key, value in values.items():
        if key not in specs:
            harmless = isinstance(key, str) and key.isidentifier() and not hasattr(type(part), key)
            _require_added(name, key, value, harmless, PLAIN)
    return {key: value for key, value in values.items() if key in specs}


def _require_added(name: str, key: str, value: Any, harmless: bool, spec: Spec) -> None:
    """Raise ValueError for an attribute that the object's class does not declare, unless it is known to be harmless."""
    require(harmless, f"{name} must hold no attribute that hides one of its class, got {key!r}")
    require(key == "card_" or key not in KEPT, f"{name} must be a Pipeline to have {key}, got another class")
    (JSON if key == "card_" else spec).check(f"{name}.{key}", value, {})


def _compare_chain(chain: Any, name: str) -> Sizes:
    """Check that the steps of a Pipeline fit each other, and check the attributes that a run has added to it.

    Returns the sizes of the Pipeline, as far as its steps have sizes: "in" is the number of features that the first
    step takes, and "out" is the number of features that the last step returns.
    """
    values = _known(chain, name, CHAIN | KEPT)
    kept = {key: value for key, value in values.items() if key in KEPT}
    require_like({key: value for key, value in values.items() if key in CHAIN}, CHAIN, name, {})
    step_sizes: list[Sizes] = []
    n_features: int | None = None  # number of features that the previous step returns
    for step, part in chain.steps:
        TEXT.check(f"each name in {name}.steps", step, {})
        passes = part is None or (isinstance(part, str) and part == "passthrough")
        sizes = {} if passes else _compare(part, step)
        fits = n_features is None or sizes.get("in", n_features) == n_features
        require(fits, f"{step} must take the {n_features} features of the step before, got {sizes.get('in')}")
        step_sizes.append(sizes)
        if sizes:  # a step without sizes, such as "passthrough", is assumed to keep the number of features
            n_features = sizes.get("out")
    if any(key.startswith("known_") for key in kept):
        _compare_kept(chain, kept, name, step_sizes)
    else:  # the Pipeline does not come from a run, but a user may have added some of the attributes
        rows: Sizes = {}
        require_like(kept, OF_USERS, name, rows)
        require(rows.get("rows", 1), "check_.X must have at least 1 row, got none")
    sizes = {key: n for key, n in step_sizes[0].items() if key == "in"}
    return sizes if n_features is None else sizes | {"out": n_features}


def _compare_kept(chain: Any, kept: Mapping[str, Any], name: str, step_sizes: list[Sizes]) -> None:
    """Raise ValueError unless the attributes that a run has added to a Pipeline fit the Pipeline.

    These attributes are the model card, the known images, and the features and scores of a few images.
    """
    kinds = " ".join(type(part).__name__ for _, part in chain.steps)
    require(STEPS.fullmatch(kinds), f"{name}.steps must be the steps of a model that a run keeps, got {kinds[:200]}")
    first = 2 if "VocabularyTree" in kinds else int("Embedding" in kinds)  # steps that turn pictures into features
    classifier, from_pictures = chain.steps[-1][1], first > 0
    require(hasattr(classifier, "calibration_"), "the classifier must have calibration_, got none")
    as_arrays = not any("_sklearn_output_config" in vars(part) for _, part in chain.steps)
    require(as_arrays, "steps must return arrays, got another set_output")
    sizes = {"tasks": step_sizes[-1]["tasks"], "in": step_sizes[first]["in"]}
    require_like(kept, KEPT, name, sizes)
    require(
        kept["check_"]["first_step"] == first,
        f"check_.first_step must be {first}, the first step that takes features, got {kept['check_']['first_step']}",
    )
    few = 1 <= sizes["rows"] <= MOST_CHECKED
    require(few, f"check_.X must have 1 to {MOST_CHECKED} rows, got {sizes['rows']:,}")
    words, columns, labels = kept["card_"]["words"], kept["columns_"], kept["known_labels_"]
    require(
        list(map(str, classifier.classes_)) == words and len(set(words)) == len(words),
        "card_.words must be the classifier's classes, without duplicates, got others",
    )
    fits = len(columns) in (0, 0 if from_pictures else sizes["in"]) and len(set(columns)) == len(columns)
    require(fits, f"columns_ must name each of {sizes['in']} features once, or be empty, got {len(columns)} names")
    both = (labels == 1).any(axis=0) & (labels == 0).any(axis=0)
    require(both.all(), "known_labels_ must have an image with and an image without each word, got a word without one")


def _compare_others(part: Any, name: str) -> Sizes:
    """Check an estimator of scikit-learn, and return its sizes "in" and "out" as far as they are known.

    The attributes must be plain values, and the vectors of a scaler must have one number per feature.
    """
    path, kind = _path(part), type(part).__name__
    require(path.startswith(ROOMS), f"{name} must be an estimator of jointsparse or scikit-learn, got {brief(part)}")

    def is_other(name: str, value: Any) -> bool:
        if _path(value).startswith(ROOMS) or isinstance(value, Versioned):
            _compare(value, name)
            return True
        return isinstance(value, np.ufunc | np.dtype | slice | type)

    parameters, spec = _parameters(part), plain_or(is_other, nan=path.startswith(WITH_NAN))
    for key, value in vars(part).items():
        harmless = isinstance(key, str) and (key in parameters or not callable(getattr(type(part), key, None)))
        _require_added(name, key, value, harmless, spec)
    for key in parameters:
        require(key in vars(part), f"{name}.{key} must be there, got none")
    if hasattr(part, "_parameter_constraints"):
        part._validate_params()  # because scikit-learn validates parameters only in `fit`
    n = getattr(part, "n_features_in_", None)
    if n is None:
        return {}
    whole(1, 2**31).check(f"{name}.n_features_in_", n, {})
    if kind not in SCALERS:
        return {"in": int(n)}
    for key, value in vars(part).items():
        fits = np.ndim(value) != 1 or key in parameters or len(value) == n
        require(fits, f"{name}.{key} must have a number for each of {n} features, got {brief(value)}")
    return {"in": int(n), "out": int(n)}


def _path(value: Any) -> str:
    return f"{type(value).__module__}."
