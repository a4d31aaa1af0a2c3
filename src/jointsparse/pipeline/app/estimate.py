"""How long a run on a user's own data will take, and how much memory, from rates that were measured once.

The rates are CPU seconds of one core of the machine on which they were measured. They are scaled by the time that this
machine takes for some arithmetic; photographs by the time that it takes for some of the user's own.
`trials/estimates.py` compares the estimates with runs.
"""

import os
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jointsparse.compiled import folder as folder_of_kernels
from jointsparse.features.embedding import Embedding
from jointsparse.pipeline.datasets.checker import verdicts
from jointsparse.pipeline.settings.studies import NORMS

PROBE_SECONDS = 0.25  # of each probe
STEP_SECONDS = 0.00091  # CPU seconds of `_step` on the machine of the rates
LONGEST_SIDE = 320  # pixels, to which photographs are shrunk
# Seconds of a run that do not depend on the data: for the run with its jobs that wait for one another, for each fit, and
# for each fit of the first run of all.
STARTING, STARTING_FIT, COMPILING_FIT = 9.0, 2.4, 30.0
# Seconds of a fit for each million of products: of stored values of the features and labels, of samples and labels, and
# of features and labels. Values of a sparse matrix are further apart in memory.
FIT_DENSE, FIT_SPARSE, FIT_SAMPLES, FIT_FEATURES = 0.05, 1.5, 5.0, 0.0
AFTER_FITS = 0.8  # seconds for calibration and the page, as a fraction of those of a fit
READING = 0.1  # seconds for each million of stored values
DESCRIBING, GROWING, BASIS = 0.0095, 15.0, 1.4  # seconds: a photograph, the vocabulary, 1,000 photographs in the basis
N_OF_VOCABULARY = 2000  # photographs of which the vocabulary is grown
# MB of a run, of a job, for each million of stored values, and for each million of samples and labels.
RUN_MB, JOB_MB, VALUES_MB, LABELS_MB = 200, 230, 15, 30


class Work(NamedTuple):
    """What a run learns from.

    Attributes
    ----------
    n_samples, n_labels, n_features, n_values
        Numbers of samples, labels and features, and of the entries of the features that are stored.
    pictures
        Some of the photographs, if the samples are photographs.
    network
        The network that describes them, if a network does.
    """

    n_samples: int
    n_labels: int
    n_features: int
    n_values: int
    pictures: Sequence[Path] = ()
    network: Embedding | None = None


class Costs(NamedTuple):
    """Elapsed seconds of a run, and the most memory in MB that all its processes need at the same time."""

    seconds: float
    mb: float


def lines(work: Work, n_learnable: int) -> list[str]:
    """Return lines for the user about the costs of a run, and of a run that learns all labels. n_learnable: of these."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    probe = Probe.of(work)
    costs = estimated(work, probe, cores)
    said = [
        f"jointsparse run will take about {_rounded(costs.seconds)} on {cores} core{'s' * (cores > 1)}, and up to "
        f"{costs.mb / 1000:.1f} GB of memory."
    ]
    if n_learnable > work.n_labels:
        every = estimated(work._replace(n_labels=n_learnable), probe, cores)
        said.append(f"To learn all {n_learnable:,}, it would take about {_rounded(every.seconds)}.")
    return said


def _rounded(seconds: float) -> str:
    """Return seconds in words, rounded to two digits.

    >>> [_rounded(seconds) for seconds in (44, 100, 4000, 86000)]
    ['44 seconds', '1.7 minutes', '67 minutes', '24 hours']
    """
    number, unit = next(
        (seconds / size, unit)
        for unit, size, most in (("seconds", 1, 90), ("minutes", 60, 90), ("hours", 3600, 1e9))
        if seconds / size < most
    )
    return f"{number:.2g} {unit}" if number < 10 and unit != "seconds" else f"{number:.0f} {unit}"


class Probe(NamedTuple):
    """The speed of this machine.

    slowness: its seconds divided by those of the machine of the rates. reading, describing: seconds of a photograph.
    """

    slowness: float
    reading: float = 0.0
    describing: float = 0.0

    @classmethod
    def of(cls, work: Work) -> "Probe":
        """Measure the speed of this machine."""
        begun, n = time.thread_time(), 0
        while time.thread_time() - begun < PROBE_SECONDS:
            _step()
            n += 1
        slowness = (time.thread_time() - begun) / n / STEP_SECONDS
        if not work.pictures:
            return cls(slowness)
        return cls(slowness, _reading(work.pictures), _describing(work.network, slowness))


def _step() -> None:
    np.exp(np.linspace(-1, 1, 100_000)).cumsum()


def _reading(pictures: Sequence[Path]) -> float:
    """Return the seconds in which a picture is read and checked."""
    with closing(verdicts(pictures, 1, LONGEST_SIDE)) as checked:
        next(checked)  # starts a process
        begun, n = time.monotonic(), 0
        for n, _ in enumerate(checked, start=1):
            if time.monotonic() - begun > PROBE_SECONDS:
                break
    return (time.monotonic() - begun) / max(n, 1)


def _describing(network: Embedding | None, slowness: float) -> float:
    """Return the seconds in which a picture is described."""
    if network is None:
        return slowness * DESCRIBING
    begun, n = time.thread_time(), 0
    while time.thread_time() - begun < PROBE_SECONDS:
        network.transform([np.zeros((*network.size_, 3), np.uint8)])
        n += 1
    return (time.thread_time() - begun) / n


def estimated(work: Work, probe: Probe, cores: int) -> Costs:
    """Return the costs of a run."""
    values, n_known = work.n_values / 1e6, work.n_samples * work.n_labels / 1e6
    is_sparse = work.n_values < work.n_samples * work.n_features
    fit = values * work.n_labels * (FIT_SPARSE if is_sparse else FIT_DENSE) + FIT_SAMPLES * n_known
    fits = len(NORMS) * (STARTING_FIT + fit)
    alone = STARTING + values * READING + AFTER_FITS * fit
    side_by_side = fits
    if work.pictures:
        described = work.n_samples * (probe.reading + probe.describing)
        alone += 0
    seconds = probe.slowness * (alone + side_by_side / min(cores, len(NORMS)))
    jobs = min(cores, len(NORMS))
    mb = RUN_MB + jobs * (JOB_MB + VALUES_MB * values + LABELS_MB * n_known)
    return Costs(seconds, mb)
