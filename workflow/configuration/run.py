"""A run: its datasets with their studies, and the settings of each job as functions of its wildcards."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from configuration.code import plug_in_file
from configuration.file import require
from configuration.found import Found
from configuration.studies import (
    AUTO,
    chosen_datasets,
    datasets_of,
    drawing,
    final_norms,
    full_block,
    glance,
    n_shards,
    only,
    raw_files,
    settings_of,
    sizes_of,
    tables_of,
    with_own_options,
    without,
)
from configuration.wildcards import DatasetsWildcards, DatasetWildcards, MethodWildcards, Study, StudyWildcards, split
from jointsparse.features import network_files
from jointsparse.features.onnx import PREFIX
from jointsparse.pipeline.provenance import records
from jointsparse.registry import ROOMS, pick, room

Block = dict[str, Any]


class Run:
    """The datasets and studies of a run, and everything that the rules look up by the wildcards `w` of a job.

    Parameters
    ----------
    config : dict
        The checked configuration.
    found : Found
        Values that an earlier process of this run has computed.

    Attributes
    ----------
    config : dict
        The configuration. For a quick run (`quick`), it also contains the entries of the reduced datasets.
    chosen : list of str
        Names of the datasets to run.
    datasets : dict
        The full entry of every dataset, by name.
    offers : dict
        For each dataset, the kind of its data: "pictures", "samples", or "drawn" if its experiments draw their own
        samples.
    files : dict
        The library file of each plug-in, by room (such as "norms").
    tables : dict
        The tables of each experiment, and the folder of each table.
    repeated, measured : lists of str
        Names of the experiments that are repeated with new draws, and of the experiments that run once to measure time.
    """

    def __init__(self, config: Block, found: Found) -> None:
        self._found = found
        self.files = found.value(
            "files", lambda: {name: {plug_in: plug_in_file(name, plug_in) for plug_in in room(name)} for name in ROOMS}
        )
        self.tables = found.value(
            "tables", lambda: {kind: pick("experiments", kind).TABLES for kind in room("experiments")}
        )
        self.measured = [kind for kind, tables in self.tables.items() if tables[kind] == "timings"]
        self.repeated = [kind for kind in self.tables if kind not in self.measured]
        takes = found.value("takes", lambda: {name: pick("features", name).TAKES for name in room("features")})
        self._makes = found.value("makes", lambda: {name: pick("features", name).MAKES for name in room("features")})
        self.config, self.chosen, self.datasets = config, chosen_datasets(config), datasets_of(config)
        for entry in self.datasets.values():
            entry["features"] = with_own_options(entry["features"], takes[entry["features"]["extractor"]])
        self.quick = bool(config.get("quick"))
        if self.quick:
            glances = {f"{name}-quick": glance(name, self.datasets[name]) for name in self.chosen}
            self.config = config | {"datasets": config["datasets"] | glances}
            self.chosen, self.datasets = list(glances), self.datasets | glances
        loaders = {name: entry["loader"] for name, entry in self.datasets.items()}
        self.offers = found.value(
            "offers", lambda: {name: pick("datasets", loader).OFFERS for name, loader in loaders.items()}
        )

    def require_raw_files(self) -> None:
        """Raise ConfigError if a dataset of the run lacks a raw file."""
        for name in self.chosen:
            raw_files(name, self.datasets[name])
            if not self.counts_words(name) and self.offers[name] == "pictures":
                file, place = self._network_of(name), f"datasets.{name}.features.options"
                require(file, "the extractor onnx needs the option model, an ONNX file", place)
                try:
                    network_files.files_of(str(file))
                except ValueError as error:
                    require(False, str(error), place)

    def offering(self, offer: str) -> list[str]:
        """Return the datasets whose data are of this kind: "pictures", "samples", or "drawn"."""
        return [name for name, offered in self.offers.items() if offered == offer]

    def studies_of(self, datasets: Iterable[str]) -> list[Study]:
        """Return the studies of these datasets."""
        return [Study(name, study) for name in datasets for study in self.datasets[name]["studies"]]

    def studies_of_kind(self, kinds: Iterable[str]) -> list[str]:
        """Return the names of all studies of these kinds."""
        return [name for name in self.config["studies"] if full_block(self.config, name)["kind"] in kinds]

    def has_claims(self, datasets: Iterable[str]) -> bool:
        """Whether some study of these datasets has claims."""
        return any(self.study(study)["claims"] for study in self.studies_of(datasets))

    def settings(self, w: DatasetsWildcards) -> Block:
        """Return the part of the configuration that is used by a run on a job's datasets."""
        return settings_of(self.config, self.datasets, split(w))

    # Datasets

    def dataset(self, w: DatasetWildcards) -> Block:
        """Return the full entry of a dataset."""
        return self.datasets[w.dataset]

    def loader(self, w: DatasetWildcards) -> str:
        """Return the name of the plug-in that reads a dataset."""
        return self.dataset(w)["loader"]

    def options(self, w: DatasetWildcards) -> Block:
        """Return the options of a dataset's loader."""
        return self.dataset(w)["options"]

    def features(self, w: DatasetWildcards) -> Block:
        """Return a dataset's block `features`, with all values that it inherits."""
        return self.dataset(w)["features"]

    def features_of_pictures(self, w: DatasetWildcards) -> Block | None:
        """Return the settings that turn a dataset's pictures into features, or None if it has no pictures."""
        return self.features(w) if self.offers[w.dataset] == "pictures" else None

    def extractor(self, w: DatasetWildcards) -> str:
        """Return the name of the plug-in that describes a dataset's pictures."""
        return self.features(w)["extractor"]

    def named(self, w: DatasetWildcards) -> str:
        """Return the name of a dataset in config.yaml. For a reduced dataset, it is the name of the full dataset."""
        return w.dataset.removesuffix("-quick") if self.quick else w.dataset

    def drawn(self, w: DatasetWildcards) -> list[int | None]:
        """Return how many samples of a dataset to draw, and the seed; both are None if all samples are used."""
        entry = self.dataset(w)
        return [entry["most_samples"], self.config["seed"]] if "most_samples" in entry else [None, None]

    def raw(self, w: DatasetWildcards) -> Block:
        """Return the raw files of a dataset; see `raw_of`."""
        return self.raw_of(w.dataset)

    def raw_of(self, name: str) -> Block:
        """Return the raw files of the dataset with this name, and a digest of their contents; see `records.checksums`.

        A job that has these values as a param is run again if the contents change, but not if only the dates change.
        """
        paths, cache = raw_files(name, self.datasets[name]), f"results/{name}/records/raw_files.json"

        def digest() -> str:
            return records.digest(records.checksums(paths, cache, records.LARGEST_RAW))

        try:
            return {"paths": paths, "cache": cache, "digest": self._found.value(f"raw {name}", digest)}
        except OSError as error:
            raise SystemExit(f"error: the files of the dataset {name} cannot be read: {error}") from error

    def raw_of_datasets(self, w: DatasetsWildcards) -> dict[str, Block]:
        """Return the raw files of several datasets."""
        return {name: self.raw_of(name) for name in split(w)}

    def shards(self, name: str) -> int:
        """Return the number of shards of the dataset of pictures with this name."""
        return self._found.value(f"shards {name}", lambda: n_shards(name, self.datasets[name]))

    def counts_words(self, name: str) -> bool:
        """Return True if the features of the dataset with this name are counts of visual words."""
        return bool(self._makes[self.datasets[name]["features"]["extractor"]] == "descriptors")

    def _network_of(self, name: str) -> str | None:
        block = self.datasets[name]["features"]
        return None if self.offers[name] != "pictures" or self.counts_words(name) else block["options"].get("model")

    def network(self, w: DatasetWildcards) -> Block | None:
        """Return the file of the network that describes a dataset's pictures, and the digest of all its files.

        Returns None if there is no network.
        """
        file, cache = self._network_of(w.dataset), f"results/{w.dataset}/records/network.json"
        if file is None:
            return None

        def digest() -> str:
            checksums = records.checksums(network_files.files_of(file), cache)
            return network_files.combined(Path(file), checksums)

        return {"path": file, "digest": self._found.value(f"network {file}", digest)}

    def vocabularies(self, w: DatasetWildcards, *keys: str) -> dict[str, Block]:
        """Return the vocabularies that the studies of a dataset use, each reduced to the given keys."""
        entry = self.dataset(w)
        studies = [*entry["studies"].values(), *entry["settings"].values()]
        used = {block["vocabulary"] for block in studies if "vocabulary" in block}
        blocks = {name: block for name, block in self.features(w)["vocabularies"].items() if name in used}
        return {name: only(block, *keys) for name, block in blocks.items()}

    # Studies

    def study(self, w: StudyWildcards) -> Block:
        """Return the block of a study, with the values that the dataset overrides.

        The study may also be one that is not run and only gives the final fits their settings.
        """
        entry = self.dataset(w)
        return (entry["settings"] | entry["studies"])[w.study]

    def kind(self, w: StudyWildcards) -> str:
        """Return the kind of a study."""
        return self.study(w)["kind"]

    def experiment_options(self, w: StudyWildcards) -> Block:
        """Return the options that a study passes to its experiment."""
        return without(self.study(w), "kind", "runs", "figures", "claims")

    def runs(self, w: StudyWildcards) -> list[int]:
        """Return the run numbers of a study, which start at 1."""
        return list(range(1, self.study(w)["runs"] + 1))

    def vocabulary(self, w: StudyWildcards) -> str | None:
        """Return the name of the picture features from which a study starts; None for studies without pictures.

        It is the name of a visual vocabulary, or the prefix of a network's features in their files.
        """
        if self.offers[w.dataset] != "pictures":
            return None
        return self.study(w).get("vocabulary") if self.counts_words(w.dataset) else PREFIX

    def powers(self, w: StudyWildcards) -> list[float]:
        """Return the powers of the singular values that scale the features of a study; empty if it has no basis."""
        powers = (self.study(w).get("basis") or {"power": []})["power"]
        return powers if isinstance(powers, list) else [powers]

    def sizes(self, w: StudyWildcards) -> list[int]:
        """Return the sizes of a study's training sets, or all sizes that may be chosen from the data."""
        return sizes_of(self.study(w))

    def at_size(self, w: StudyWildcards) -> int:
        """Return the training set size for figures that show a single size.

        If there are no training sets of this size, the figures show the next smaller size.
        """
        # Imported here because it loads pandas, which takes half a second.
        from jointsparse.pipeline.papers.quattoni.numbers import report_size

        return self.study(w).get("at_size", report_size(self.sizes(w)))

    def task_options(self, w: StudyWildcards) -> Block:
        """Return the options that determine the training sets of a study."""
        block = self.study(w)
        return only(block, "sizes", "negatives_per_positive") | only(block["words"], "n_validation_words", "n_words")

    def method(self, w: MethodWildcards) -> Block:
        """Return the grid of a method."""
        return self.study(w)["methods"][f"{w.loss}-{w.norm}"]

    def table_file(self, w: StudyWildcards, name: str) -> str:
        """Return the file of a study's table. Tables of timings are in a folder of their own."""
        return f"results/{w.dataset}/{w.study}/{tables_of(self.study(w))[name]}/{name}.csv"

    def captions(self, w: StudyWildcards) -> dict[str, str]:
        """Return the captions of a study's figures."""
        return {name: drawing(name).caption for name in self.study(w)["figures"]}

    # The final fits of a dataset

    def kept(self, w: DatasetWildcards) -> str:
        """Return the norm of the final fit that is saved, or "auto" if cross-validation chooses it."""
        norm = self.dataset(w)["final"]["norm"]
        return AUTO if norm == AUTO else final_norms(self.dataset(w))[0]

    def final_study(self, w: DatasetWildcards) -> Study:
        """Return the study whose words, features and settings the final fits of a dataset use."""
        return Study(w.dataset, self.dataset(w)["final"]["study"])

    def final_vocabulary(self, w: DatasetWildcards) -> str | None:
        """Return the vocabulary of a dataset's final fits; None if it has no final fits or no pictures."""
        return self.vocabulary(self.final_study(w)) if "final" in self.dataset(w) else None

    def final_words(self, w: DatasetWildcards) -> Block:
        """Return the options that determine which words a dataset's final fits can learn; empty without final fits."""
        if "final" not in self.dataset(w):
            return {}
        study = self.final_study(w)
        options = without(self.study(study)["words"], "n_words", "n_validation_words")
        return {"smallest_size": min(self.sizes(study))} | options
