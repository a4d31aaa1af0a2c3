"""Runs with the config.yaml of this checkout, for tests of the functions that rules call."""

import copy
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import yaml
from configuration.found import Found
from configuration.run import Run
from snakemake.utils import update_config

from jointsparse.features import FEATURES

CONFIG = yaml.safe_load((Path(__file__).parents[2] / "config.yaml").read_text(encoding="utf-8"))
# A decorator and context manager that registers another extractor, which has dense SIFT's file and only one option.
with_bare = patch.dict(
    FEATURES, bare=SimpleNamespace(__name__=FEATURES["dense_sift"].__name__, TAKES=("step",), MAKES="descriptors")
)


def run_of(dataset="collage", study="annotation", *, quick=False, compare=False, seed=0, entry=None, **values):
    """Return a run on a dataset, with other values of its entry and of one of its studies."""
    config = copy.deepcopy(CONFIG) | {"dataset": dataset, "quick": quick, "compare": compare, "seed": seed}
    update_config(config["datasets"], {dataset: entry or {}})
    update_config(config["datasets"], {dataset: {"studies": {study: values}} if values else {}})
    return Run(config, Found(fresh=True, environment={}))
