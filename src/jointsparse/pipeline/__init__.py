"""The pipeline, which turns raw files into tables, figures, pages and models, for the papers or for your own data.

The pipeline imports the library, but the library does not import the pipeline, except that `jointsparse.__main__`
starts the command. The pipeline needs the optional dependencies: ``pip install 'jointsparse[pipeline]'``.
"""

from jointsparse.registry import ROOMS, Room

ROOMS["datasets"] = Room("jointsparse.pipeline.datasets", "loader")
ROOMS["experiments"] = Room("jointsparse.pipeline.papers", "kind")
