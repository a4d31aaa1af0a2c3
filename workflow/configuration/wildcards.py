"""Wildcards of jobs, as the rules hand them to functions: their types, and how names become a wildcard."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class DatasetWildcards(Protocol):
    """Wildcards of a job that is about a dataset."""

    @property
    def dataset(self) -> str: ...


class StudyWildcards(DatasetWildcards, Protocol):
    """Wildcards of a job that is about a study of a dataset."""

    @property
    def study(self) -> str: ...


class MethodWildcards(StudyWildcards, Protocol):
    """Wildcards of a job that is about a method of a study."""

    @property
    def loss(self) -> str: ...

    @property
    def norm(self) -> str: ...


class DatasetsWildcards(Protocol):
    """Wildcards of a job that is about several datasets, with their names joined by +."""

    @property
    def datasets(self) -> str: ...


class Study(NamedTuple):
    """A study of a dataset. It also stands for the wildcards of a job that is about this study."""

    dataset: str
    study: str

    @property
    def folder(self) -> str:
        """The folder of its results."""
        return f"results/{self.dataset}/{self.study}"


def any_of(names: Iterable[str]) -> str:
    """Return the regular expression of a wildcard that is one of these names."""
    return "|".join(names) or "(?!)"  # an expression that no text matches


def joined(datasets: Iterable[str]) -> str:
    """Return the value of the wildcard `datasets`."""
    return "+".join(datasets)


def split(w: DatasetsWildcards) -> list[str]:
    """Return the names that the wildcard `datasets` joins."""
    return w.datasets.split("+")
