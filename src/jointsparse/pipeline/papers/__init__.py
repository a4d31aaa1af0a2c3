"""The papers' experiments, claims and figures. Only this package knows what a paper states.

An experiment is a module of this package. Its kind in config.yaml, its file and its first table have the same name. The
module defines

- ``run(data, *, rng, progress, **options)``, which returns the table of one repetition, or a table of timings. ``data``
  is a `Samples` object, or None if the experiment draws its own samples. ``options`` are taken from the study's block
  in config.yaml.

Its class in `settings.studies` lists these options and the tables that a study of this kind writes, each with its
folder. Results that are the same every time go to ``tables``, and timings to ``timings``. An experiment whose only
table is in ``timings`` is run once. Any other experiment is repeated, and its second table, ``<kind>_seconds``,
contains the timings. The first table may have a column ``warning``.
"""

from jointsparse.checks import require_extra

require_extra(__name__, "pandas", "matplotlib")

EXPERIMENTS = {
    "cost": "jointsparse.pipeline.papers.quattoni.cost",
    "digits": "jointsparse.pipeline.papers.duchi.digits",
    "exponentiated": "jointsparse.pipeline.papers.duchi.exponentiated",
    "online": "jointsparse.pipeline.papers.duchi.online",
    "operations": "jointsparse.pipeline.papers.duchi.operations",
    "projection": "jointsparse.pipeline.papers.duchi.projection",
    "race": "jointsparse.pipeline.papers.duchi.race",
    "recovery": "jointsparse.pipeline.papers.quattoni.recovery",
}
