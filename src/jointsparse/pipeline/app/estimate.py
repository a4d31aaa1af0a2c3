"""How long a run on a user's own data will take, and how much memory, from rates that were measured once.

The rates are CPU seconds of one core of the machine on which they were measured. They are scaled by the time that this
machine takes for some arithmetic; photographs by the time that it takes for some of the user's own.
`trials/estimates.py` compares the estimates with runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jointsparse.compiled import folder as folder_of_kernels
from jointsparse.pipeline.datasets.checker import verdicts
from jointsparse.pipeline.settings.studies import NORMS

if TYPE_CHECKING:
    from jointsparse.features.embedding import Embedding

UNITS = (("seconds", 1, 90), ("minutes", 60, 5400), ("hours", 3600, float("inf")))  # with their seconds, and the most
PROBE_SECONDS = 0.25  # of each probe
STEP_SECONDS = 0.0003  # CPU seconds of `_step` on the machine of the rates
LONGEST_SIDE = 320  # pixels, to which photographs are shrunk
# Seconds that do not depend on the data: of the run and of its jobs that wait for one another, and of each fit.
STARTING, STARTING_FIT = 8.0, 2.4
COMPILING = 60.0  # seconds, in the first run of all
# Seconds of a fit for each million of products: of stored values and labels, and of samples and labels. The values of a
# sparse matrix are further apart in memory, and a basis gives photographs about as many features as there are samples.
FIT_DENSE, FIT_IN_BASIS, FIT_SPARSE, FIT_SAMPLES = 0.035, 0.15, 2.2, 4.0
SLOWEST = 2  # the slowest of the fits takes about as long as all others together, so more cores do not help
AFTER_FITS = 0.5  # calibration, as a fraction of a fit
READING = 0.1  # seconds for each million of stored values
# Seconds for a photograph, for a vocabulary, for a photograph in the basis, and on the page for each label.
DESCRIBING, GROWING, IN_BASIS, ON_PAGE = 0.0095, 6.0, 0.0014, 0.02
N_OF_VOCABULARY = 2000  # photographs of which the vocabulary is grown
# MB of the run, of a job, for each million of stored values in a job, and for each million of samples and labels.
RUN_MB, JOB_MB, VALUES_MB, LABELS_MB = 150, 300, 8.4, 87


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
    """Return lines for the user about the costs of a run, and of a run that learns all labels.

    n_learnable: the number of all labels that have samples enough.
    """
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
    """Return seconds in words.

    >>> [_rounded(seconds) for seconds in (44, 100, 4000, 86000)]
    ['44 seconds', '1.7 minutes', '67 minutes', '24 hours']
    """
    size, unit = next((size, unit) for unit, size, most in UNITS if seconds < most)
    number = seconds / size
    return f"{number:.1f} {unit}" if number < 10 and size > 1 else f"{number:.0f} {unit}"


class Probe(NamedTuple):
    """The speed of this machine.

    slowness: its seconds divided by those of the machine of the rates. reading, describing: seconds of a photograph.
    """

    slowness: float
    reading: float = 0.0
    describing: float = 0.0

    @classmethod
    def of(cls, work: Work) -> Probe:
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
    with closing(verdicts(pictures, "check", 1, LONGEST_SIDE)) as checked:
        next(checked)  # starts a process
        begun, n = time.monotonic(), 0
        while time.monotonic() - begun < PROBE_SECONDS and next(checked, None):
            n += 1
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
    """Return the costs of a run that learns a model with each norm."""
    values, labels = work.n_values / 1e6, work.n_samples * work.n_labels / 1e6
    is_sparse, in_basis = work.n_values < work.n_samples * work.n_features, work.pictures and not work.network
    rate = FIT_SPARSE if is_sparse else FIT_IN_BASIS if in_basis else FIT_DENSE
    fit = rate * values * work.n_labels + FIT_SAMPLES * labels
    fits = len(NORMS) * (STARTING_FIT + fit) / min(cores, SLOWEST)
    seconds = probe.slowness * (STARTING + values * READING + fits + AFTER_FITS * fit)
    if not any(folder.iterdir() for folder in [folder_of_kernels()] if folder):
        seconds += probe.slowness * COMPILING
    if work.pictures:
        described = work.n_samples * probe.describing / cores
        if work.network is None:
            described += min(work.n_samples, N_OF_VOCABULARY) * probe.describing
            described += probe.slowness * (GROWING + work.n_samples * IN_BASIS)
        seconds += work.n_samples * probe.reading + described + probe.slowness * ON_PAGE * work.n_labels
    jobs = min(cores, len(NORMS))
    return Costs(seconds, RUN_MB + jobs * (JOB_MB + VALUES_MB * values + LABELS_MB * labels))
