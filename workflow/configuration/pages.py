"""The files and values from which a run's pages are made: a page for each dataset, and a page with the verdicts."""

from typing import Any

from configuration.inputs import Features, Inputs
from configuration.run import Run
from configuration.studies import WORDS, drawing, only, tables_of
from configuration.wildcards import DatasetsWildcards, DatasetWildcards, Study, joined, split

SHOWN = ("chosen", "means", "by_word", "words_learnt", "differences", "sparsity", "warnings", "words")


class Pages:
    """The pages of a run."""

    def __init__(self, run: Run, inputs: Inputs) -> None:
        self.run, self.inputs = run, inputs

    def judged(self, w: DatasetsWildcards) -> list[dict[str, Any]]:
        """Return, for each study with claims, the claims, the tables that decide them, and facts about the study."""
        from jointsparse.pipeline.papers.verdicts import CLAIMS  # imported here to save time in jobs that judge nothing

        judged = []
        for study in self.run.studies_of(split(w)):
            block, entry = self.run.study(study), self.run.dataset(study)
            tables = {name for claim in block["claims"] for name in CLAIMS[claim].tables} & set(tables_of(block))
            if block["claims"]:
                values = {
                    "ids": block["claims"],
                    "tables": [self.run.table_file(study, name) for name in sorted(tables)],
                    "dataset": study.dataset,
                    "study": study.study,
                    "seed": self.run.config["seed"],
                    "config": f"{study.folder}/config.yaml",
                    "note": entry.get("note", ""),
                    "demonstration": entry.get("demonstration", False),
                }
                judged.append(values)
        return judged

    def judged_tables(self, w: DatasetsWildcards) -> list[str]:
        """Return the tables that decide the claims of these datasets."""
        return [file for study in self.judged(w) for file in study["tables"]]

    def claims(self, w: DatasetWildcards) -> list[str]:
        """Return the tables of the run's verdicts or, for a dataset outside the run, of the dataset's own verdicts."""
        datasets = self.run.chosen if w.dataset in self.run.chosen else [w.dataset]
        folder = f"results/claims/{joined(datasets)}"
        return [f"{folder}/claims.csv", f"{folder}/timings/claims.csv"] if self.run.has_claims(datasets) else []

    def studies(self, w: DatasetWildcards) -> list[dict[str, Any]]:
        """Return, for each study on a dataset's page, all arguments but `names` of `explorer.inputs.read_study`."""
        return [self._study(study) for study in self.run.studies_of([w.dataset])]

    def _study(self, study: Study) -> dict[str, Any]:
        block = self.run.study(study)
        tables = [name for name in SHOWN if name in tables_of(block)]
        files = {
            "tables": [self.run.table_file(study, name) for name in tables],
            "figures": [f"{study.folder}/figures"] if block["figures"] else [],
        }
        features: Features = []
        if block["kind"] == WORDS:
            features = self.inputs.features(study)
            files |= {"scores": [f"{study.folder}/scores.npz"], "labels": [f"{study.folder}/labels.npy"]}
            files |= {"images": [self.inputs.images(study)]}
            files |= {"features": [features] if isinstance(features, str) else features}
            files |= {"sweeps": self.inputs.sweeps(study)}
        return {
            "name": study.study,
            "files": files,
            "features": features,
            "words": self.run.vocabulary(study),
            "figures": {_picture(study, name): caption for name, caption in self.run.captions(study).items()},
        }

    def pictures(self, w: DatasetWildcards) -> dict[str, dict[str, list[str]]]:
        """Return, for each study of a dataset and each of its tables, the pictures that show the table."""
        return {study.study: self._pictures(study) for study in self.run.studies_of([w.dataset])}

    def _pictures(self, study: Study) -> dict[str, list[str]]:
        block = self.run.study(study)
        drawings = {name: drawing(name) for name in block["figures"]}
        return {
            table: [_picture(study, name) for name, drawn in drawings.items() if table in (drawn.table, drawn.beside)]
            for table in tables_of(block)
        }

    def kept(self, w: DatasetWildcards) -> dict[str, Features]:
        """Return the saved model of a dataset and the other files that its page needs; nothing if no model is saved."""
        if "final" not in self.run.dataset(w):
            return {}
        files: dict[str, Features] = {"model": f"results/{w.dataset}/model.skops"}
        files |= only(self.inputs.final(w), "labels", "words") | only(self.inputs.model(w), "images", "features")
        files |= {name: f"results/{w.dataset}/{name}.csv" for name in ("norms", "thresholds")}
        if "stability" in self.run.dataset(w)["final"]:
            files["stability"] = f"results/{w.dataset}/stability.csv"
        study = self.run.final_study(w)
        if study.study in self.run.dataset(w)["settings"]:  # no other job gathers the warnings of this study
            files["odd_features"] = f"{study.folder}/tables/odd_features.csv"
        return files

    def files(self, w: DatasetWildcards) -> list[str]:
        """Return all files from which the page of a dataset is made, except for the verdicts."""
        files = [file for study in self.studies(w) for several in study["files"].values() for file in several]
        offer = self.run.offers[w.dataset]
        names = [] if offer == "drawn" else ["images.parquet", "captions.parquet", "left_out.csv"]
        names += ["features.npz"] if offer == "samples" else []
        return [*dict.fromkeys(files), *(f"results/{w.dataset}/{name}" for name in names)]


def _picture(study: Study, figure: str) -> str:
    """Return the path of a figure's picture, relative to the page of its dataset."""
    return f"{study.study}/figures/{figure}.png"
