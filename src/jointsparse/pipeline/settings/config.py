"""The whole of config.yaml."""

from typing import Annotated, Self

from annotated_types import MinLen
from pydantic import ValidationInfo, field_validator, model_validator

from jointsparse.pipeline.settings.datasets import AnyDataset, require_vocabulary
from jointsparse.pipeline.settings.features import Features, VisualWords
from jointsparse.pipeline.settings.studies import AnyStudy, WordStudy
from jointsparse.pipeline.settings.values import Block, Distinct, Folders, Name, Seed, misplaced, one_of, shown


class Config(Block):
    """The settings of a run, in which everything is written out that datasets and studies inherit."""

    dataset: str | Annotated[list[str], MinLen(1), Distinct]
    """The dataset to run, or a list of datasets, by their names in `datasets`."""
    seed: Seed
    """Seed of every random choice except the splits of datasets."""
    quick: bool = False
    """True for a quick run on few samples, with results in <dataset>-quick."""
    compare: bool = False
    """True to also run the studies that give the final fits their settings."""
    features: Features
    """How pictures become features."""
    studies: Annotated[dict[Name, AnyStudy], MinLen(1), Folders]
    """The studies, by name."""
    datasets: Annotated[dict[Name, AnyDataset], MinLen(1), Folders]
    """The datasets, by name."""

    @property
    def chosen(self) -> list[str]:
        """The names of the datasets to run."""
        return [self.dataset] if isinstance(self.dataset, str) else self.dataset

    @model_validator(mode="after")
    def _know_all_names(self) -> Self:
        for name in self.chosen:
            if name not in self.datasets:
                known = reversed(self.datasets)  # the user's own datasets were added last
                raise misplaced(f"dataset must be {one_of(known, name)}, got {shown(name)}", "dataset")
        return self

    @field_validator("studies")
    @classmethod
    def _know_vocabularies(cls, studies: dict[str, AnyStudy], info: ValidationInfo) -> dict[str, AnyStudy]:
        """Refuse an unknown vocabulary in the study that names it, and not in the datasets that inherit it."""
        features = info.data.get("features")
        for name, study in studies.items():
            if isinstance(study, WordStudy) and study.vocabulary and isinstance(features, VisualWords):
                require_vocabulary(study, features.vocabularies, name)
        return studies
