"""Forecast of the seconds that a run has left, from how long its jobs took before, or else a job of the same rule."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

OTHERWISE = 1.0
# Seconds that a job takes on the embedded data, by its rule; of other rules OTHERWISE. compare_methods and
# evaluate are expected to take twice that, as they grow faster with the data than others.
# fmt: off
SECONDS = {
    "fit_final": 24.0, "repeat": 13.0, "describe": 10.0, "measure": 9.0, "train_path": 8.0, "judge_claims": 7.0,
    "grow_vocabularies": 8.0, "compare_methods": 4.0, "evaluate": 4.0, "write_page": 4.0, "train_svm": 3.0,
    "train_sweep": 3.0, "fit_similarities": 3.0, "draw_figures": 3.0, "fit_basis": 2.0, "encode": 2.0,
}
# fmt: on
OVERDUE = 0.25  # Choice: a job that takes longer than expected takes so much of its time again


class Forecast:
    """The seconds that a run has left.

    jobs: by number, the rule of each and the file of its benchmark, such as results/mine/timings/describe/1-of-8.tsv.
    now: seconds of any clock, here and below.
    """

    def __init__(self, jobs: Mapping[int, tuple[str, str]], now: float) -> None:
        self.rules = {job: rule for job, (rule, _) in jobs.items()}
        own, of_rule = _before(jobs.values())
        self.expected = {
            job: own.get(file) or of_rule.get((rule, *Path(file).parts[:2])) or SECONDS.get(rule, OTHERWISE)
            for job, (rule, file) in jobs.items()
        }
        self.begun = now
        self.started, self.took = dict[int, float](), dict[int, float]()

    def start(self, jobs: Iterable[int | str], now: float) -> None:
        """Note that some jobs run. Names of groups are passed over."""
        self.started |= dict.fromkeys((job for job in jobs if isinstance(job, int)), now)

    def finish(self, job: int, now: float) -> None:
        """Note that a job is done."""
        self.took[job] = now - self.started.pop(job, now)

    def left(self, now: float) -> float:
        """Guess the seconds that are left.

        Time must have passed, and jobs have begun. A rule is as far from what was expected as its jobs so far. Rules
        without such jobs are as slow as the others, but no quicker than expected. As many jobs run side by side as so
        far.
        """
        running = {job: now - start for job, start in self.started.items()}
        took, expected = defaultdict[str, float](float), defaultdict[str, float](float)
        for job, seconds in self.took.items():
            took[self.rules[job]] += seconds
            expected[self.rules[job]] += self.expected[job]
        pace = {rule: took[rule] / expected[rule] for rule in took}
        others = max(1.0, sum(took.values()) / max(sum(expected.values()), OTHERWISE))
        for job, seconds in running.items():
            pace[self.rules[job]] = max(pace.get(self.rules[job], others), seconds / self.expected[job])
        to_come = [
            max(self.expected[job] * pace.get(rule, others) - running.get(job, 0.0), OVERDUE * running.get(job, 0.0))
            for job, rule in self.rules.items()
            if job not in self.took
        ]
        side_by_side = sum([*took.values(), *running.values()]) / (now - self.begun)
        return max(sum(to_come) / side_by_side, *to_come, 0.0)


def _before(jobs: Iterable[tuple[str, str]]) -> tuple[dict[str, float], dict[tuple[str, ...], float]]:
    """Seconds of past jobs: by their file, and the mean by rule and the folder of the dataset."""
    own, of_rule = dict[str, float](), dict[tuple[str, ...], list[float]]()
    for folder in {Path(*Path(file).parts[:2]) for _, file in jobs if file}:
        for file in folder.glob("**/timings/**/*.tsv"):
            rule = file.parts[file.parts.index("timings") + 1].removesuffix(".tsv")
            if numbers := file.read_text(encoding="utf-8").splitlines()[1:]:
                own[str(file)] = max(float(numbers[0].split()[0]), 0.1)
                of_rule.setdefault((rule, *folder.parts), []).append(own[str(file)])
    return own, {key: sum(seconds) / len(seconds) for key, seconds in of_rule.items()}
