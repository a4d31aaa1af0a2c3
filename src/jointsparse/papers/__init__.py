"""The experiments of the papers, their claims and figures: the only room that knows what a paper states.

An experiment is a module of this room. Its kind in config.yaml, its file, its table and its figure share one name. It
has

- ``run(data, *, rng, progress, **options)``: a table, one repetition of what is drawn or learnt, or measured seconds;
  ``data`` are `Samples`, or None where the experiment draws its own. ``options`` are the entries of the study's block;
- ``SERVES``: the datasets it serves, "samples" or "drawn";
- ``TABLES``: the tables that a study of this kind leaves, and the folder of each: ``tables`` for what is the same on
  each run, ``timings`` for what holds measured seconds. Where the experiment's own table lies in ``timings``, it is
  measured once, with the machine to itself, and the only one. Else it is repeated, and a second table
  ``<kind>_seconds`` holds seconds;
- ``WARNS``: those of its tables whose rows may carry a warning.

The block of a study has ``kind``, ``figures``, ``claims`` and, where it is repeated, ``runs``. All else is passed to
``run``.
"""

from jointsparse.checks import require_extra

require_extra(__name__, "pandas", "matplotlib")

EXPERIMENTS = {
    "cost": "jointsparse.papers.quattoni.cost",
    "digits": "jointsparse.papers.duchi.digits",
    "exponentiated": "jointsparse.papers.duchi.exponentiated",
    "online": "jointsparse.papers.duchi.online",
    "projection": "jointsparse.papers.duchi.projection",
    "race": "jointsparse.papers.duchi.race",
    "recovery": "jointsparse.papers.quattoni.recovery",
    "updates": "jointsparse.papers.duchi.updates",
}
