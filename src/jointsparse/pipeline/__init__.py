"""The pipeline: the papers' experiments, and people's own data, from raw files to tables, figures, pages and models.

It uses the library by its public names, and nothing of the library imports it. It needs the extra "pipeline".
"""

from jointsparse.registry import ROOMS, Room

ROOMS["datasets"] = Room("jointsparse.pipeline.datasets", "loader")
ROOMS["experiments"] = Room("jointsparse.pipeline.papers", "kind")
