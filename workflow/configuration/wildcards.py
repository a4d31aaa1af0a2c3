"""Types for the wildcards that the rules pass to functions, and functions that convert wildcards from and to names."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class DatasetWildcards(Protocol):
    """Wildcards of a job that belongs to a dataset."""

    @property
    def dataset(self) -> str: ...


class StudyWildcards(DatasetWildcards, Protocol):
    """Wildcards of a job that belongs to a study of a dataset."""

    @property
    def study(self) -> str: ...


class MethodWildcards(StudyWildcards, Protocol):
    """Wildcards of a job that belongs to a method of a study."""

    @property
    def loss(self) -> str: ...

    @property
    def norm(self) -> str: ...


class DatasetsWildcards(Protocol):
    """Wildcards of a job that belongs to several datasets, whose names are joined by +."""

    @property
    def datasets(self) -> str: ...


class Study(NamedTuple):
    """A study of a dataset. It can be used like the wildcards of a job that belongs to this study."""

    dataset: str
    study: str

    @property
    def folder(self) -> str:
        """The folder of the study's results."""
        return f"results/{self.dataset}/{self.study}"


def any_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches a wildcard whose value is one of these names."""
    return "|".join(names) or "(?!)"  # matches nothing


def joined(datasets: Iterable[str]) -> str:
    """Return the value of the wildcard `datasets` for these datasets."""
    return "+".join(datasets)


def split(w: DatasetsWildcards) -> list[str]:
    """Return the names of the datasets that are joined in the wildcard `datasets`."""
    return w.datasets.split("+")
