"""The experiments of the papers, their claims and figures: the only room that knows what a paper states.

An experiment is a module of this room. Its kind in config.yaml, its file and its first table share one name. It
declares

- ``run(data, *, rng, progress, **options)``, which returns a table: one repetition, or measured seconds. ``data`` are
  `Samples`, or None if the experiment draws its own. ``options`` are the entries of the study's block.
- ``SERVES``: the datasets it serves, "samples" or "drawn".
- ``TABLES``: the tables that a study of this kind leaves, and the folder of each. ``tables`` is for numbers that are
  equal on each run, ``timings`` for measured seconds. An experiment with a single table, in ``timings``, is measured
  once. Any other experiment is repeated, and its second table ``<kind>_seconds`` holds seconds. Rows of the first may
  have a column ``warning``.

The block of a study has ``kind``, ``figures``, ``claims`` and, if it is repeated, ``runs``. All else is passed to
``run``.
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
