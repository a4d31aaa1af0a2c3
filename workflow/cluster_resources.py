"""The memory and the running time that a job requests from a cluster.

Both are linear functions of the size of the largest file that the job reads, with coefficients for each rule. They lie
just above the measurements in `benchmarks/resources.csv`, which `benchmarks/resources.py` has collected;
`tests/pipeline/test_resources.py` checks how far above. A job that is tried again requests more.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

SNAKEMAKE = 350  # MB of the two Snakemake processes that start a job on its node
LARGE_MB = 300  # larger than any measured file; for files above this size, the minutes grow with the size
# For each rule, or rule and norm: MB, MB per MB of the largest file, and minutes (at least twice the measured time).
# fmt: off
NEEDS = {
    "read_images": (3500, 0, 30),  # a single odd picture may take 3 GiB, and with less memory it would be left out
    "read_samples": (600, 2.3, 20), "correct_labels": (220, 100, 10), "set_aside": (140, 100, 10),
    "describe": (750, 0, 20), "grow_vocabularies": (600, 0, 20), "encode": (600, 0, 20), "embed": (700, 0, 20),
    "fit_basis": (910, 2, 20), "fit_similarities": (310, 4, 10),
    "choose_words": (220, 100, 10), "draw_tasks": (160, 4, 10),
    "compile_kernels": (380, 0, 20), "train_svm": (300, 2, 30), "train_sweep": (300, 6, 30),
    "train_path l1": (880, 6, 40), "train_path l12": (400, 2.5, 30), "train_path l1inf": (810, 5, 30),
    "train_path l2": (540, 2.5, 30),
    "fit_final l1": (560, 5, 60), "fit_final l12": (550, 3.4, 60), "fit_final l1inf": (550, 3.7, 60),
    "fit_final l2": (585, 2.8, 60),
    "evaluate": (420, 2.5, 20), "compare_methods": (265, 1.5, 20), "keep_model": (450, 3.9, 10),
    "count_selections": (560, 5, 60),
    "repeat": (575, 8, 60), "measure": (520, 0, 20),
    "judge_claims": (200, 6, 10), "write_page": (415, 2, 20),
    "draw_figures": (260, 10, 10), "inspect_features": (210, 2.4, 10),
    "write_configs": (45, 0, 10), "write_manifest": (120, 10, 10), "write_index": (45, 0, 10),
}
# fmt: on
BY_SHARD = ("fit_basis", "inspect_features")  # rules that hold only one shard in memory at a time


def largest_mb(files: Iterable[str | Path], *, joined: bool = True) -> float:
    """Return the size of the largest file in MB; 0 if all files are missing. joined: count all shards as one file."""
    sizes = Counter[Path]()
    for file in filter(Path.is_file, set(map(Path, files))):  # a set, because `keep_model` may list features twice
        sizes[file.parent if joined and file.parent.name == "histograms" else file] += file.stat().st_size
    return max(sizes.values(), default=0) / 1e6


def megabytes(rule: str, norm: str, read_mb: float) -> int:
    """Return the most memory in MB that a job may use, including Snakemake's processes."""
    base, for_each, _ = _needs(rule, norm)
    return round(SNAKEMAKE + base + for_each * read_mb)


def minutes(rule: str, norm: str, read_mb: float) -> int:
    """Return the most minutes that a job may take on a node that is half as fast as the machine that was measured."""
    return round(_needs(rule, norm)[2] * max(1.0, read_mb / LARGE_MB))


def needs(raw_files: Callable[[Any], Sequence[str]]) -> dict[str, Callable[..., int]]:
    """Return the resources of every rule, as functions that Snakemake calls with the wildcards and inputs of a job.

    raw_files: a function that returns the raw files of a job's dataset; their sizes are used for jobs without inputs.
    """

    def times_attempt(number: Callable[[str, str, float], int], by_shard: Sequence[str]) -> Callable[..., int]:
        def of_job(wildcards: Any, input: Any, attempt: int, rulename: str) -> int:
            raw = raw_files(wildcards) if wildcards.get("dataset") and not input else []
            read_mb = largest_mb([*input, *raw], joined=rulename not in by_shard)
            return attempt * number(rulename, wildcards.get("norm", ""), read_mb)

        return of_job

    return {"mem_mb": times_attempt(megabytes, BY_SHARD), "runtime": times_attempt(minutes, ())}


def require_cores(settings: Any) -> None:
    """Raise ValueError if the number of cores or jobs is below 1, because Snakemake would wait forever.

    settings: Snakemake's resource settings.
    """
    options = {"cores": settings.cores, "jobs": settings.nodes, "local-cores": settings.local_cores}
    for name, number in options.items():
        if number is not None and number < 1:
            raise ValueError(f"--{name} must be at least 1, got {number}")


def _needs(rule: str, norm: str) -> tuple[float, float, int]:
    """Return the entry of `NEEDS` for a rule and norm; for a norm without an entry, the largest entry of the rule.

    All rules that repeat an experiment share one entry.
    """
    rule = "repeat" if rule.startswith("repeat_") else rule
    measured = [need for key, need in NEEDS.items() if key in (rule, f"{rule} {norm}")]
    return measured[0] if measured else max(need for key, need in NEEDS.items() if key.split()[0] == rule)
