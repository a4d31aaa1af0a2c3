"""The pipeline: the papers' experiments, and people's own data, from raw files to tables, figures, pages and models.

It imports the library, and nothing in the library imports it; only `jointsparse.__main__` starts its command. It needs
the extra: ``pip install 'jointsparse[pipeline]'``.
"""

from jointsparse.registry import ROOMS, Room

ROOMS["datasets"] = Room("jointsparse.pipeline.datasets", "loader")
ROOMS["experiments"] = Room("jointsparse.pipeline.papers", "kind")
