"""Values that the user's process computes once for the processes of its jobs.

Snakemake reads the rules again in the process of every job. A few values that the rules need take long to compute: the
declarations of plug-ins (one second, because plug-ins import all their dependencies), and the checksums of raw files
(minutes for large files). The user's process stores these values in an environment variable, which the processes of its
jobs inherit. A job that does not inherit a value computes it.
"""

import json
import os
from collections.abc import Callable, MutableMapping
from typing import TypeVar

VARIABLE = "JOINTSPARSE_FOUND"
T = TypeVar("T")


class Found:
    """Named values that a run computes only once. All of them can be written as JSON.

    Parameters
    ----------
    fresh : bool
        True in the user's process, which must not reuse values of an earlier run.
    environment : mapping
        The environment variables that the processes of jobs inherit.
    """

    def __init__(self, *, fresh: bool, environment: MutableMapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._values = {} if fresh else json.loads(environment.get(VARIABLE, "{}"))

    def value(self, name: str, find: Callable[[], T]) -> T:
        """Return the value with this name. If no process has computed it yet, compute it by calling `find`."""
        if name not in self._values:
            self._values[name] = find()
            self._environment[VARIABLE] = json.dumps(self._values)
        return self._values[name]
