"""The files that the rules read, as functions of the wildcards `w` of a job."""

from configuration.run import Run
from configuration.studies import AUTO, drawing, final_norms, tables_of
from configuration.wildcards import DatasetWildcards, StudyWildcards

Features = str | list[str]  # a single file, or a list with one file per shard


class Inputs:
    """The inputs of a run's rules, except for the inputs of its pages, see `pages.Pages`."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def shards(self, name: str, kind: str, ending: str) -> list[str]:
        """Return the file of each shard of a result. name: the dataset. kind: the folder of the result."""
        n = self.run.shards(name)
        return [f"results/{name}/{kind}/{shard}-of-{n}.{ending}" for shard in range(n)]

    def images(self, w: StudyWildcards) -> str:
        """Return the file of a study's images with their splits."""
        sets_aside = any(self.run.study(w)["set_aside"].values())
        return f"results/{w.dataset}/{w.study}/images.parquet" if sets_aside else f"results/{w.dataset}/images.parquet"

    def given_features(self, w: DatasetWildcards) -> Features:
        """Return the files of the features from which a study starts.

        They contain the features of the samples or, for pictures, histograms of visual words or embeddings.
        """
        if self.run.offers[w.dataset] == "samples":
            return f"results/{w.dataset}/features.npz"
        return self.shards(w.dataset, "histograms" if self.run.counts_words(w.dataset) else "embeddings", "npz")

    def features(self, w: StudyWildcards) -> Features:
        """Return the features from which a study learns: features in a basis, similarities, or the given features."""
        for kind, ending in (("basis", "npy"), ("similarities", "npz")):
            if self.run.study(w).get(kind):
                return f"results/{w.dataset}/{w.study}/{kind}/features.{ending}"
        return self.given_features(w)

    def basis(self, w: StudyWildcards) -> Features:
        """Return a study's basis if the study scales features by a power of the singular values other than 1."""
        return [] if self.run.powers(w) in ([], [1]) else f"results/{w.dataset}/{w.study}/basis/basis.npz"

    def tasks(self, w: StudyWildcards) -> list[str]:
        """Return the files of a study's training sets, one for each run."""
        return [f"results/{w.dataset}/{w.study}/tasks/run{run}.npz" for run in self.run.runs(w)]

    def tables_of_tasks(self, w: StudyWildcards) -> list[str]:
        """Return the tables of the sizes of a study's training sets, one for each run."""
        return [f"results/{w.dataset}/{w.study}/tables/tasks_run{run}.csv" for run in self.run.runs(w)]

    def sweeps(self, w: StudyWildcards) -> list[str]:
        """Return the files of a study's fits: paths for methods with `radius: auto`, sweeps for all other methods."""
        grids = self.run.study(w)["methods"]
        folders = {method: "paths" if grid.get("radius") == AUTO else "sweeps" for method, grid in grids.items()}
        return [
            f"results/{w.dataset}/{w.study}/{folder}/run{run}/{method}.npz"
            for run in self.run.runs(w)
            for method, folder in folders.items()
        ]

    def samples(self, w: DatasetWildcards) -> dict[str, str]:
        """Return the files of a dataset from which an experiment learns; nothing if the experiment draws samples."""
        if self.run.offers[w.dataset] != "samples":
            return {}
        names = {"images": "images.parquet", "captions": "captions.parquet", "features": "features.npz"}
        return {key: f"results/{w.dataset}/{name}" for key, name in names.items()}

    def tables_of_figures(self, w: StudyWildcards) -> list[str]:
        """Return the tables that the figures of a study show."""
        block = self.run.study(w)
        shown = {name for figure in block["figures"] for name in (drawing(figure).table, drawing(figure).beside)}
        return [self.run.table_file(w, name) for name in sorted(shown & set(tables_of(block)))]

    def left_out(self, w: DatasetWildcards) -> list[str]:
        """Return the table of what is left out of a dataset; nothing if its experiments draw their own samples."""
        return [] if self.run.offers[w.dataset] == "drawn" else [f"results/{w.dataset}/left_out.csv"]

    def final(self, w: DatasetWildcards) -> dict[str, Features]:
        """Return the files from which a final fit learns."""
        study = self.run.final_study(w)
        files: dict[str, Features] = {
            "images": self.images(study),
            "features": self.features(study),
            "labels": f"{study.folder}/labels.npy",
            "words": f"{study.folder}/tables/words.csv",
        }
        return files | ({"basis": f"{study.folder}/basis/basis.npz"} if self.run.study(study).get("basis") else {})

    def model(self, w: DatasetWildcards) -> dict[str, Features]:
        """Return the files from which a dataset's model is made. They include all final fits, one of which is saved."""
        fits = [f"results/{w.dataset}/final/{norm}" for norm in final_norms(self.run.dataset(w))]
        files = self.final(w)
        files |= {"models": [f"{fit}.skops" for fit in fits], "tables": [f"{fit}.csv" for fit in fits]}
        files |= {"features": self.given_features(w), "transformed": files["features"]}
        if self.run.offers[w.dataset] == "pictures" and self.run.counts_words(w.dataset):
            files["vocabularies"] = f"results/{w.dataset}/vocabularies.npz"
        return {key: file for key, file in files.items() if key != "words"}
