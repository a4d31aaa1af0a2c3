"""Plans of runs with the config.yaml of this checkout, for tests of what the rules look up."""

import copy
from pathlib import Path

import yaml
from plan import Plan
from raw import Found
from snakemake.utils import update_config

from jointsparse.pipeline.settings import read

CONFIG = yaml.safe_load((Path(__file__).parents[2] / "config.yaml").read_text(encoding="utf-8"))


def plan_of(dataset="collage", study="annotation", *, quick=False, compare=False, seed=0, entry=None, **values):
    """Return the plan of a run on a dataset, with other values of its entry and of one of its studies."""
    config = copy.deepcopy(CONFIG) | {"dataset": dataset, "quick": quick, "compare": compare, "seed": seed}
    update_config(config["datasets"], {dataset: entry or {}})
    update_config(config["datasets"], {dataset: {"studies": {study: values}} if values else {}})
    return Plan(read(config), Found(fresh=True, environment={}))
