"""What a run makes: the datasets and studies of a run, the files of its jobs, and the values that each job uses.

This is the only place with paths of results. The rules pass the wildcards `w` of a job to the methods of `Plan`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from code_hashes import code_of, plug_in_file
from raw import Found, raw_files, require_corrections, require_network

from jointsparse.pipeline.provenance.manifest import deleted
from jointsparse.pipeline.provenance.records import read_json
from jointsparse.pipeline.settings import Config, SettingError
from jointsparse.pipeline.settings.datasets import Dataset, Final, Learnable, Pictures, Samples
from jointsparse.pipeline.settings.features import BUILT_IN, Network, VisualWords, Vocabulary
from jointsparse.pipeline.settings.studies import EXPERIMENTS, NORMS, SVM, Method, Repeated, Study, Svm, WordStudy
from jointsparse.pipeline.settings.values import AUTO, one_of
from jointsparse.pipeline.tasks import AUTO_SIZES

FEW_SAMPLES = 500  # Choice: number of samples in a quick run, which then takes a minute
NETWORK = "network"  # prefix of a network's features in their files
REPEATED = [kind for kind, study in EXPERIMENTS.items() if issubclass(study, Repeated)]
MEASURED = [kind for kind in EXPERIMENTS if kind not in REPEATED]  # run once, to measure time
# Tables of a study that is not run and only gives the final fits their settings.
TABLES_OF_SETTINGS = [f"tables/{name}.csv" for name in ("words", "odd_features", "repeated")]

Files = str | list[str]  # a single file, or a list with one file per shard
Block = dict[str, Any]


class Place(NamedTuple):
    """A study of a dataset. It can be used like the wildcards of a job that belongs to this study."""

    dataset: str
    study: str

    @property
    def folder(self) -> str:
        """The folder of the study's results."""
        return f"results/{self.dataset}/{self.study}"


class OfDataset(Protocol):
    """Wildcards of a job that belongs to a dataset."""

    @property
    def dataset(self) -> str: ...


class OfStudy(OfDataset, Protocol):
    """Wildcards of a job that belongs to a study of a dataset."""

    @property
    def study(self) -> str: ...


class OfMethod(OfStudy, Protocol):
    """Wildcards of a job that belongs to a method of a study."""

    @property
    def loss(self) -> str: ...

    @property
    def norm(self) -> str: ...


class OfDatasets(Protocol):
    """Wildcards of a job that belongs to several datasets, whose names are joined by +."""

    @property
    def datasets(self) -> str: ...


def any_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches a wildcard whose value is one of these names."""
    return "|".join(names) or "(?!)"  # matches nothing


def tables_of(study: Study) -> dict[str, str]:
    """Map the tables of a study to their folders: `timings` for measured times, and `tables` for all other tables."""
    if not isinstance(study, WordStudy):
        own = type(study).TABLES
        return own | ({"warnings": "tables"} if isinstance(study, Repeated) else {})
    names = [
        *("odd_features", "repeated", "warnings", "words"),
        *("chosen", "means", "words_learnt", "by_word", "convergence", "sparsity", "weights"),
        *(f"tasks_run{run}" for run in range(1, study.runs + 1)),
    ]
    return dict.fromkeys(names + ["significance", "differences"] * (len(study.methods) > 1), "tables")


def glance(name: str, dataset: Dataset) -> Learnable:
    """Return a dataset reduced for a quick run: few samples, and at most one study with one run at one size."""
    if not (isinstance(dataset, Learnable) and dataset.final):
        raise SettingError(f"quick is for datasets with a final fit, got {name!r}", f"datasets.{name}")
    final, is_run = dataset.final, dataset.final.settings is None
    study = dataset.blocks[final.study]
    assert isinstance(study, WordStudy)  # as `Learnable` checks
    few: Block = {"runs": 1, "sizes": [min([AUTO_SIZES[0], *study.all_sizes])], "set_aside": {}}
    few |= {"words": study.words.model_copy(update={"n_words": AUTO, "n_validation_words": AUTO})}
    few |= {"basis": study.basis.model_copy(update={"rank": AUTO})} if study.basis else {}
    study = study.model_copy(update=few | {"figures": [], "claims": []})
    what = "one run at one size on" if is_run else "the final fit on"
    note = f"A quick run: {what} at most {FEW_SAMPLES} samples. Run without quick to use all samples. {dataset.note}"
    norm = final.norm if final.norm == AUTO else final.norms[0]
    values: Block = {
        "most_samples": FEW_SAMPLES,
        "note": note.strip(),
        "studies": {final.study: study} if is_run else {},
    }
    values |= {"final": final.model_copy(update={"norm": norm} | ({} if is_run else {"settings": study}))}
    return dataset.model_copy(update=values | ({"shards": 2} if isinstance(dataset, Pictures) else {}))


class Plan:
    """The datasets and studies of a run, and everything that the rules look up by the wildcards of a job.

    Parameters
    ----------
    config : Config
        The settings.
    found : Found
        What the user's process has found out about raw files.

    Attributes
    ----------
    datasets : dict
        The settings of every dataset, by name; in a quick run also those of the reduced datasets.
    chosen : list of str
        Names of the datasets to run.
    again : list of str
        Deleted results that `everything` includes although no job needs them.
    """

    def __init__(self, config: Config, found: Found) -> None:
        self.config, self._found = config, found
        self.datasets: dict[str, Dataset] = dict(config.datasets)
        self.chosen = config.chosen
        if config.quick:
            glances = {f"{name}-quick": glance(name, self.datasets[name]) for name in self.chosen}
            for name in glances.keys() & self.datasets.keys():
                said = f"{name} must not be the name of a dataset, because a quick run writes its results there"
                raise SettingError(f"{said}: choose another name", f"datasets.{name}")
            self.chosen, self.datasets = [*glances], self.datasets | glances
        self.again: list[str] = []

    def require_raw_files(self) -> None:
        """Raise SettingError if a dataset of the run lacks a raw file."""
        for name in self.chosen:
            dataset = self.datasets[name]
            raw_files(name, dataset)
            if isinstance(dataset, Pictures):
                require_network(name, dataset)
            if isinstance(dataset, Learnable):
                require_corrections(name, dataset)

    def require_shown(self) -> None:
        """Raise SettingError if a figure or claim of a study is unknown, or needs a table that the study lacks."""
        from jointsparse.pipeline.papers.catalogue import FIGURES  # imported here because they load pandas
        from jointsparse.pipeline.papers.verdicts import CLAIMS

        needed = {
            "figures": {name: {figure.table} for name, figure in FIGURES.items()},
            "claims": {name: {part.table for part in (claim, *claim.more)} for name, claim in CLAIMS.items()},
        }
        studies: dict[str, Study] = {f"studies.{name}": study for name, study in self.config.studies.items()}
        for name, dataset in self.config.datasets.items():
            blocks = dataset.blocks.items()
            studies |= {".".join(("datasets", name, *dataset.place(study))): block for study, block in blocks}
        for place, study in studies.items():
            for key, names in (("figures", study.figures), ("claims", study.claims)):
                for i, name in enumerate(names):
                    if said := _unshown(key, name, needed[key], tables_of(study)):
                        raise SettingError(said, f"{place}.{key}[{i}]")

    # Datasets

    def of(self, kind: type[Dataset]) -> list[str]:
        """Return the names of the datasets of a kind: of pictures, or of samples."""
        return [name for name, dataset in self.datasets.items() if isinstance(dataset, kind)]

    def pictures(self, w: OfDataset) -> Pictures:
        """Return the settings of a dataset of pictures."""
        dataset = self.datasets[w.dataset]
        assert isinstance(dataset, Pictures)
        return dataset

    def visual_words(self, w: OfDataset) -> VisualWords:
        """Return how a dataset's pictures become histograms of visual words."""
        features = self.pictures(w).features
        assert isinstance(features, VisualWords)
        return features

    def loader(self, w: OfDataset) -> str:
        """Return the name of the plug-in that reads a dataset."""
        return self.datasets[w.dataset].loader

    def options(self, w: OfDataset) -> Block:
        """Return the options of a dataset's loader."""
        return self.datasets[w.dataset].options.given()

    def options_of_pictures(self, w: OfDataset) -> Block:
        """Return those options of a dataset's loader that decide what a picture with a given name looks like."""
        return {key: value for key, value in self.options(w).items() if key in self.pictures(w).options.PIXELS}

    def extractor(self, w: OfDataset) -> str:
        """Return the name of the plug-in that describes a dataset's pictures."""
        return self.pictures(w).features.extractor

    def features_of_pictures(self, w: OfDataset) -> Block | None:
        """Return the settings with which a saved model describes pictures, or None if a dataset has no pictures."""
        dataset = self.datasets[w.dataset]
        if not isinstance(dataset, Pictures):
            return None
        options = {"options": dataset.features.options.given()}
        if isinstance(dataset.features, Network):
            return options
        used = options | dataset.features.values("extractor", "longest_side")
        blocks: dict[str, Vocabulary] = dataset.features.vocabularies
        name = str(self.final_vocabulary(w))
        return used | {"vocabularies": {name: blocks[name].values("weighting", "normalise")}}

    def longest_side(self, w: OfDataset) -> int:
        """Return the longest side in pixels of the pictures that are shown beside the samples of a dataset."""
        dataset = self.datasets[w.dataset]
        return (dataset if isinstance(dataset, Pictures) else self.config).features.longest_side

    def named(self, w: OfDataset) -> str:
        """Return the name of a dataset in config.yaml. For a reduced dataset, it is the name of the full dataset."""
        return w.dataset.removesuffix("-quick") if self.config.quick else w.dataset

    def drawn(self, w: OfDataset) -> list[int | None]:
        """Return how many samples of a dataset to draw, and the seed; both are None if all samples are used."""
        dataset = self.datasets[w.dataset]
        most = dataset.most_samples if isinstance(dataset, Learnable) else None
        return [None, None] if most is None else [most, self.config.seed]

    def raw(self, w: OfDataset) -> Block:
        """Return the raw files of a dataset, and a digest of their contents.

        A job that has these values as a param is run again if the contents change, but not if only the dates change.
        """
        cache = f"results/{w.dataset}/records/raw_files.json"
        return self._raw(w.dataset, raw_files(w.dataset, self.datasets[w.dataset]), cache)

    def corrections(self, w: OfDataset) -> str | None:
        """Return the file with the decisions about a dataset's labels, or None if there is none."""
        dataset = self.datasets[w.dataset]
        return dataset.corrections if isinstance(dataset, Learnable) else None

    def raw_corrections(self, w: OfDataset) -> Block:
        """Return the file with the decisions about a dataset's labels in the form of `raw`."""
        files = filter(None, [self.corrections(w)])
        cache = f"results/{w.dataset}/records/corrections.json"
        return self._raw(f"{w.dataset} (corrections)", [*files], cache)

    def _raw(self, name: str, paths: list[str], cache: str) -> Block:
        return {"name": name, "paths": paths, "cache": cache, "digest": self._found.digest(name, paths, cache)}

    def raw_of_datasets(self, w: OfDatasets) -> dict[str, Block]:
        """Return the raw files of several datasets, and the files with decisions about their labels."""
        places = [Place(name, "") for name in w.datasets.split("+")]
        corrections = [self.raw_corrections(place) for place in places if self.corrections(place)]
        return {block["name"]: block for block in (*map(self.raw, places), *corrections)}

    def corrected(self, w: OfDataset, name: str) -> str:
        """Return a table of a dataset in which corrections are applied, if there are any."""
        return f"results/{w.dataset}/{'corrected/' if self.corrections(w) else ''}{name}"

    def n_shards(self, w: OfDataset) -> int:
        """Return the number of shards of a dataset of pictures."""
        return self._found.shards(w.dataset, self.pictures(w))

    def network(self, w: OfDataset) -> Block | None:
        """Return the file of the network that describes a dataset's pictures, and the digest of all its files.

        Returns None if there is no network. The path of the built-in network is None.
        """
        dataset = self.datasets[w.dataset]
        if not (isinstance(dataset, Pictures) and isinstance(dataset.features, Network)):
            return None
        file = dataset.features.options.model
        path = None if file == BUILT_IN else file
        return {"path": path, "digest": self._found.network(file, f"results/{w.dataset}/records/network.json")}

    def vocabularies(self, w: OfDataset, *keys: str) -> dict[str, Block]:
        """Return the vocabularies that the studies of a dataset use, each reduced to the given keys."""
        used = {block.vocabulary for block in self.pictures(w).blocks.values() if isinstance(block, WordStudy)}
        blocks: dict[str, Vocabulary] = self.visual_words(w).vocabularies
        return {name: block.values(*keys) for name, block in blocks.items() if name in used}

    # Studies

    def places(self, datasets: Iterable[str]) -> list[Place]:
        """Return the studies of these datasets."""
        return [Place(name, study) for name in datasets for study in self.datasets[name].studies]

    def names_of(self, *kinds: str) -> list[str]:
        """Return the names of all studies of these kinds."""
        return [name for name, study in self.config.studies.items() if study.kind in kinds]

    def study(self, w: OfStudy) -> Study:
        """Return a study with the values that the dataset overrides.

        The study may also be one that is not run and only gives the final fits their settings.
        """
        return self.datasets[w.dataset].blocks[w.study]

    def words(self, w: OfStudy) -> WordStudy:
        """Return a study whose tasks are words."""
        study = self.study(w)
        assert isinstance(study, WordStudy)
        return study

    def kind(self, w: OfStudy) -> str:
        """Return the kind of a study."""
        return self.study(w).kind

    def experiment_options(self, w: OfStudy) -> Block:
        """Return the options that a study passes to its experiment."""
        return self.study(w).given(without=["kind", "runs", "figures", "claims"])

    def runs(self, w: OfStudy) -> list[int]:
        """Return the run numbers of a study, which start at 1."""
        study = self.study(w)
        assert isinstance(study, WordStudy | Repeated)
        return list(range(1, study.runs + 1))

    def vocabulary(self, w: OfStudy) -> str | None:
        """Return the name of the picture features from which a study starts; None for studies without pictures.

        It is the name of a visual vocabulary, or the prefix of a network's features in their files.
        """
        dataset = self.datasets[w.dataset]
        if not isinstance(dataset, Pictures):
            return None
        return self.words(w).vocabulary if isinstance(dataset.features, VisualWords) else NETWORK

    def at_size(self, w: OfStudy) -> int:
        """Return the training set size for figures that show a single size.

        If there are no training sets of this size, the figures show the next smaller size.
        """
        from jointsparse.pipeline.papers.quattoni.numbers import report_size  # imported here because it loads pandas

        return self.words(w).at_size or report_size(self.words(w).all_sizes)

    def task_options(self, w: OfStudy) -> Block:
        """Return the options that determine the training sets of a study."""
        study = self.words(w)
        return study.values("sizes", "negatives_per_positive") | study.words.values("n_words", "n_validation_words")

    def grid(self, w: OfMethod) -> Block:
        """Return the grid of a method."""
        return self.words(w).methods[f"{w.loss}-{w.norm}"].given()

    def captions(self, w: OfStudy) -> dict[str, str]:
        """Return the captions of a study's figures."""
        return {name: drawing(name).caption for name in self.study(w).figures}

    # The final fits of a dataset

    def final(self, w: OfDataset) -> Final | None:
        """Return the settings of a dataset's final fits; None if it has none."""
        dataset = self.datasets[w.dataset]
        return dataset.final if isinstance(dataset, Learnable) else None

    def kept(self, w: OfDataset) -> str:
        """Return the norm of the final fit that is saved, or "auto" if cross-validation chooses it."""
        final = self.final(w)
        assert final
        return AUTO if final.norm == AUTO else final.norms[0]

    def final_study(self, w: OfDataset) -> Place:
        """Return the study whose words, features and settings the final fits of a dataset use."""
        final = self.final(w)
        assert final
        return Place(w.dataset, final.study)

    def final_vocabulary(self, w: OfDataset) -> str | None:
        """Return the vocabulary of a dataset's final fits; None if it has no final fits or no pictures."""
        return self.vocabulary(self.final_study(w)) if self.final(w) else None

    def final_words(self, w: OfDataset) -> Block:
        """Return the options that determine which words a dataset's final fits can learn; empty without final fits."""
        if not self.final(w):
            return {}
        study = self.words(self.final_study(w))
        words = study.words.given(without=["n_words", "n_validation_words"])
        return {"smallest_size": min(study.all_sizes)} | words

    def forms_of_words(self, w: OfDataset) -> Block:
        """Return the options that determine which texts name the same word of a dataset's final fits."""
        return {
            key: value for key, value in self.final_words(w).items() if key in ("split_captions", "join_inflections")
        }

    # Inputs

    def shards(self, w: OfDataset, kind: str, ending: str) -> list[str]:
        """Return the file of each shard of a result. kind: the folder of the result."""
        n = self.n_shards(w)
        return [f"results/{w.dataset}/{kind}/{shard}-of-{n}.{ending}" for shard in range(n)]

    def images(self, w: OfStudy) -> str:
        """Return the file of a study's images with their splits."""
        sets_aside = any(self.words(w).set_aside.values())
        return f"results/{w.dataset}/{w.study}/images.parquet" if sets_aside else f"results/{w.dataset}/images.parquet"

    def given_features(self, w: OfDataset) -> Files:
        """Return the files of the features from which a study starts.

        They contain the features of the samples or, for pictures, histograms of visual words or embeddings.
        """
        dataset = self.datasets[w.dataset]
        if not isinstance(dataset, Pictures):
            return f"results/{w.dataset}/features.npz"
        return self.shards(w, "histograms" if isinstance(dataset.features, VisualWords) else "embeddings", "npz")

    def features(self, w: OfStudy) -> Files:
        """Return the features from which a study learns: features in a basis, similarities, or the given features."""
        study = self.words(w)
        if study.basis:
            return f"results/{w.dataset}/{w.study}/basis/features.npy"
        if study.similarities:
            return f"results/{w.dataset}/{w.study}/similarities/features.npz"
        return self.given_features(w)

    def basis(self, w: OfStudy) -> Files:
        """Return a study's basis if the study scales features by a power of the singular values other than 1."""
        return [] if self.words(w).powers in ([], [1]) else f"results/{w.dataset}/{w.study}/basis/basis.npz"

    def tasks(self, w: OfStudy) -> list[str]:
        """Return the files of a study's training sets, one for each run."""
        return [f"results/{w.dataset}/{w.study}/tasks/run{run}.npz" for run in self.runs(w)]

    def tables_of_tasks(self, w: OfStudy) -> list[str]:
        """Return the tables of the sizes of a study's training sets, one for each run."""
        return [f"results/{w.dataset}/{w.study}/tables/tasks_run{run}.csv" for run in self.runs(w)]

    def sweeps(self, w: OfStudy) -> list[str]:
        """Return the files of a study's fits: paths for methods with `radius: auto`, sweeps for all other methods."""

        def folder(grid: Method | Svm) -> str:
            return "paths" if isinstance(grid, Method) and grid.radius == AUTO else "sweeps"

        return [
            f"results/{w.dataset}/{w.study}/{folder(grid)}/run{run}/{method}.npz"
            for run in self.runs(w)
            for method, grid in self.words(w).methods.items()
        ]

    def samples(self, w: OfDataset) -> dict[str, str]:
        """Return the files of a dataset from which an experiment learns; nothing if the experiment draws samples."""
        if not isinstance(self.datasets[w.dataset], Samples):
            return {}
        files = {
            key: f"results/{w.dataset}/{name}"
            for key, name in (("images", "images.parquet"), ("features", "features.npz"))
        }
        return files | {"captions": self.corrected(w, "captions.parquet")}

    def tables_of_figures(self, w: OfStudy) -> list[str]:
        """Return the tables that the figures of a study show."""
        study = self.study(w)
        shown = {name for figure in study.figures for name in (drawing(figure).table, drawing(figure).beside)}
        return [self.table_file(w, name) for name in sorted(shown & set(tables_of(study)))]

    def table_file(self, w: OfStudy, name: str) -> str:
        """Return the file of a study's table. Tables of timings are in a folder of their own."""
        return f"results/{w.dataset}/{w.study}/{tables_of(self.study(w))[name]}/{name}.csv"

    def left_out(self, w: OfDataset) -> list[str]:
        """Return the table of what is left out of a dataset; nothing if its experiments draw their own samples."""
        return [self.corrected(w, "left_out.csv")] if isinstance(self.datasets[w.dataset], Learnable) else []

    def inputs_of_final(self, w: OfDataset) -> dict[str, Files]:
        """Return the files from which a final fit learns."""
        place = self.final_study(w)
        files: dict[str, Files] = {
            "images": self.images(place),
            "features": self.features(place),
            "labels": f"{place.folder}/labels.npy",
            "words": f"{place.folder}/tables/words.csv",
        }
        return files | ({"basis": f"{place.folder}/basis/basis.npz"} if self.words(place).basis else {})

    def inputs_of_model(self, w: OfDataset) -> dict[str, Files]:
        """Return the files from which a dataset's model is made. They include all final fits, one of which is saved."""
        final = self.final(w)
        assert final
        fits = [f"results/{w.dataset}/final/{norm}" for norm in final.norms]
        files = self.inputs_of_final(w)
        files |= {"models": [f"{fit}.npz" for fit in fits], "tables": [f"{fit}.csv" for fit in fits]}
        files |= {"features": self.given_features(w), "transformed": files["features"]}
        dataset = self.datasets[w.dataset]
        if isinstance(dataset, Pictures) and isinstance(dataset.features, VisualWords):
            files["vocabularies"] = f"results/{w.dataset}/vocabularies.npz"
        files |= {"decisions": self.corrected(w, "decisions.parquet")} if self.corrections(w) else {}
        return {key: file for key, file in files.items() if key != "words"}

    # Pages

    def judged(self, w: OfDatasets) -> list[Block]:
        """Return, for each study with claims, the claims, the tables that decide them, and facts about the study."""
        from jointsparse.pipeline.papers.verdicts import CLAIMS  # imported here because it loads pandas

        judged = []
        for place in self.places(w.datasets.split("+")):
            study, dataset = self.study(place), self.datasets[place.dataset]
            tables = {name for claim in study.claims for name in CLAIMS[claim].tables} & set(tables_of(study))
            if study.claims:
                values = {
                    "ids": study.claims,
                    "tables": [self.table_file(place, name) for name in sorted(tables)],
                    "dataset": place.dataset,
                    "study": place.study,
                    "seed": self.config.seed,
                    "config": f"{place.folder}/config.yaml",
                    "note": dataset.note,
                    "demonstration": dataset.demonstration,
                }
                judged.append(values)
        return judged

    def judged_tables(self, w: OfDatasets) -> list[str]:
        """Return the tables that decide the claims of these datasets."""
        return [file for study in self.judged(w) for file in study["tables"]]

    def has_claims(self, datasets: Iterable[str]) -> bool:
        """Whether some study of these datasets has claims."""
        return any(self.study(place).claims for place in self.places(datasets))

    def overview(self) -> str:
        """Return the page with all claims of the run, relative to the list of datasets; empty if there are none."""
        return f"claims/{'+'.join(self.chosen)}/index.html" if self.has_claims(self.chosen) else ""

    def claims(self) -> list[str]:
        """Return the tables of the run's verdicts."""
        folder = f"results/claims/{'+'.join(self.chosen)}"
        return [f"{folder}/claims.csv", f"{folder}/timings/claims.csv"] if self.has_claims(self.chosen) else []

    @property
    def with_models(self) -> list[str]:
        """The datasets of the run that have a saved model, and so a page of their own."""
        return [name for name in self.chosen if self.final(Place(name, ""))]

    def listed(self) -> list[Block]:
        """Return, for each dataset of the run, what the list of datasets says about it besides its results.

        The files of figures and tables are relative to the list.
        """
        return [
            {
                "dataset": name,
                "note": self.datasets[name].note,
                "demonstration": self.datasets[name].demonstration,
                "studies": [self._listed_study(place) for place in self.places([name])],
            }
            for name in self.chosen
        ]

    def _listed_study(self, place: Place) -> Block:
        folder, tables = f"{place.dataset}/{place.study}", tables_of(self.study(place))
        return {
            "study": place.study,
            "tables": {name: f"{folder}/{kind}/{name}.csv" for name, kind in tables.items()},
            "figures": {f"{folder}/figures/{name}.png": caption for name, caption in self.captions(place).items()},
        }

    def inputs_of_page(self, w: OfDataset) -> dict[str, Files]:
        """Return the saved model of a dataset and the other files from which its page is made."""
        final = self.final(w)
        assert final
        learnt, model, folder = self.inputs_of_final(w), self.inputs_of_model(w), f"results/{w.dataset}"
        files: dict[str, Files] = {"model": f"{folder}/model.jointsparse", "labels": learnt["labels"]}
        files |= {"images": model["images"], "features": model["features"]}
        files |= {name: f"{folder}/{name}.csv" for name in ("norms", "thresholds")}
        files |= {"tags": f"{folder}/tags_to_check.csv"}
        files |= {"stability": f"{folder}/stability.csv"} if final.stability else {}
        files["warned"] = [f"{self.final_study(w).folder}/tables/{name}.csv" for name in ("words", "odd_features")]
        files |= {"all_images": f"{folder}/images.parquet", "all_captions": self.corrected(w, "captions.parquet")}
        files |= {"all_left_out": self.corrected(w, "left_out.csv")}
        return files | ({"samples": f"{folder}/features.npz"} if isinstance(self.datasets[w.dataset], Samples) else {})

    # The whole run

    def everything(self) -> list[str]:
        """Return the results of the chosen datasets, their manifest, and their pages."""
        kernels = ["results/kernels.txt"] if self.norms else []
        pages = [f"results/{name}/index.html" for name in self.with_models]
        # A quick run leaves the list of datasets of a full run unchanged.
        pages += [] if self.config.quick and Path("results/index.html").exists() else ["results/index.html"]
        manifest = f"results/claims/{'+'.join(self.chosen)}/manifest.json"
        everything = [*kernels, *self.results(self.chosen), manifest, *pages]
        self.again = self._deleted(manifest, everything)
        return [*everything, *(name for name in self.again if name not in everything)]

    def _deleted(self, manifest: str, targets: Sequence[str]) -> list[str]:
        """Return the results of this run that have been deleted, even if no job needs them any more.

        After a change of settings this list is empty, because the run may then have other jobs.
        """
        made_with = read_json(manifest).get("settings")
        now = json.loads(json.dumps(self.settings(self.chosen)))
        return deleted(Path("results"), targets) if made_with == now else []

    def settings(self, datasets: Sequence[str]) -> Block:
        """Return the settings that a run on these datasets uses."""
        used = {name: self.datasets[name].given() for name in datasets}
        return {"dataset": [*datasets], "seed": self.config.seed, "datasets": used}

    def results(self, datasets: Sequence[str]) -> list[str]:
        """Return the tables and figures of every study of these datasets, their models, and the verdicts on claims."""
        results = [f"results/claims/{'+'.join(datasets)}/claims.md"] if self.has_claims(datasets) else []
        for name in datasets:
            results += self._results_of_dataset(Place(name, ""))
        for place in self.places(datasets):
            study = self.study(place)
            results.append(f"{place.folder}/config.yaml")
            results += [self.table_file(place, table) for table in tables_of(study)]
            results += [f"{place.folder}/figures"] if study.figures else []
        return results

    def _results_of_dataset(self, w: OfDataset) -> list[str]:
        dataset, final, results = self.datasets[w.dataset], self.final(w), self.left_out(w)
        if isinstance(dataset, Pictures) and isinstance(dataset.features, VisualWords):
            results += self.shards(w, "descriptors", "npy") if "descriptors" in dataset.features.keep else []
        if not final:
            return results
        folder = f"results/{w.dataset}"
        names = ["norms.csv", "thresholds.csv", "tags_to_check.csv", "model.jointsparse"]
        names += ["stability.csv"] if final.stability else []
        results += [f"{folder}/final/{norm}.csv" for norm in final.norms] + [f"{folder}/{name}" for name in names]
        files = ["config.yaml", *TABLES_OF_SETTINGS] if final.settings else []
        return [*results, *(f"{self.final_study(w).folder}/{file}" for file in files)]

    def tables(self, w: OfDatasets) -> list[str]:
        """Return every table of these datasets, except for tables of timings, which differ in each run."""
        results = self.results(w.datasets.split("+"))
        tables = results + [file.removesuffix("md") + "csv" for file in results if file.endswith("claims.md")]
        return [file for file in tables if file.endswith(".csv") and "/timings/" not in file]

    @cached_property
    def settings_of_studies(self) -> dict[str, Block]:
        """The settings of each study, by the folder of the study, also of studies that are not run."""
        settings = {}
        for name in self.chosen:
            dataset = self.datasets[name]
            of_dataset = dataset.given(without=["studies", "note", "features", "final"])
            of_dataset |= {"final": final.given(without=["settings"])} if (final := self.final(Place(name, ""))) else {}
            features = {"features": dataset.features.given()} if isinstance(dataset, Pictures) else {}
            for study, block in dataset.blocks.items():
                settings[Place(name, study).folder] = {
                    "seed": self.config.seed,
                    "datasets": {name: of_dataset},
                    **features,
                    "studies": {study: block.given()},
                }
        return settings

    @cached_property
    def norms(self) -> list[str]:
        """The norms that the methods and experiments of the run use; many jobs may need their kernels."""
        studies = [self.study(place) for place in self.places(self.chosen)]
        words = [study for study in studies if isinstance(study, WordStudy)]
        named = {method.rpartition("-")[2] for study in words for method in study.methods if method != SVM}
        kinds = {study.kind for study in studies} & EXPERIMENTS.keys()
        imported = {line.split()[0] for kind in kinds for line in code_of(plug_in_file("experiments", kind))}
        files = {norm: plug_in_file("norms", norm) for norm in NORMS}
        return sorted(norm for norm, file in files.items() if norm in named or file in imported)


def _unshown(key: str, name: str, needed: Mapping[str, set[str]], tables: Mapping[str, str]) -> str:
    """Return a sentence if a figure or claim is unknown or needs a table that a study lacks; else an empty string."""
    if name not in needed:
        return f"{key} must be {one_of(needed, name)}, got {name!r}"
    makers = {table: f"kind: {kind}" for kind, study in EXPERIMENTS.items() for table in study.TABLES}
    makers |= dict.fromkeys(("differences", "significance"), "requires two methods")
    asked = " or ".join(f"{table!r} ({makers.get(table, 'kind: words')})" for table in sorted(needed[name]))
    return "" if needed[name] & tables.keys() else f"{name} needs the table {asked}, which this study does not have"


def drawing(figure: str) -> Any:
    """Return the entry that says how a figure is drawn, and from which tables."""
    from jointsparse.pipeline.papers.catalogue import FIGURES  # imported here because it loads pandas

    return FIGURES[figure]
