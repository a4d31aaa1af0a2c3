"""Values that the user's process finds once, for the processes of its jobs.

Snakemake reads the rules again in the process of every job. A few values that the rules need take long to find: what
plug-ins declare, because they import all that they compute with (a second), and checksums of raw files (minutes for
large ones). The user's process leaves these values in an environment variable, which the processes of its jobs inherit.
Where none is inherited, a job finds the value itself.
"""

import json
import os
from collections.abc import Callable, MutableMapping
from typing import TypeVar

VARIABLE = "JOINTSPARSE_FOUND"
T = TypeVar("T")


class Found:
    """Values by name, each a value of JSON.

    Parameters
    ----------
    fresh : bool
        True in the user's process, which takes nothing over from an earlier run.
    environment : mapping
        The variables that the processes of jobs inherit.
    """

    def __init__(self, *, fresh: bool, environment: MutableMapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._values = {} if fresh else json.loads(environment.get(VARIABLE, "{}"))

    def value(self, name: str, find: Callable[[], T]) -> T:
        """Return the value of this name, which `find` computes if no process has done so before."""
        if name not in self._values:
            self._values[name] = find()
            self._environment[VARIABLE] = json.dumps(self._values)
        return self._values[name]
