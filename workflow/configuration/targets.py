"""The files that a run produces."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from configuration.code import code_of
from configuration.inputs import Inputs
from configuration.run import Run
from configuration.studies import final_norms, settings_of, tables_of, without
from configuration.wildcards import DatasetsWildcards, Study, joined, split
from jointsparse.pipeline.provenance.manifest import deleted
from jointsparse.pipeline.provenance.records import read_json

# The tables of a study that is not run and only gives the final fits their settings.
TABLES_OF_SETTINGS = [f"tables/{name}.csv" for name in ("words", "odd_features", "repeated")]


class Targets:
    """The files that Snakemake is asked for in a run."""

    def __init__(self, run: Run, inputs: Inputs) -> None:
        self.run, self.inputs = run, inputs
        self.again: list[str] = []  # deleted results that `everything` includes although no job needs them

    def everything(self) -> list[str]:
        """Return the results of the chosen datasets, their manifest, and their pages."""
        chosen = self.run.chosen
        kernels = ["results/kernels.txt"] if self.norms(chosen) else []
        pages = [f"results/{name}/index.html" for name in chosen]
        # A quick run leaves the list of pages of a full run unchanged.
        pages += [] if self.run.quick and Path("results/index.html").exists() else ["results/index.html"]
        manifest = f"results/claims/{joined(chosen)}/manifest.json"
        everything = [*kernels, *self.results(chosen), manifest, *pages]
        self.again = self.deleted(manifest, everything)
        return [*everything, *(name for name in self.again if name not in everything)]

    def deleted(self, manifest: str, targets: Sequence[str]) -> list[str]:
        """Return the results of this run that have been deleted, even if no job needs them any more.

        After a change of settings this list is empty, because the run may then have other jobs.
        """
        settings = settings_of(self.run.config, self.run.datasets, self.run.chosen)
        made_with = read_json(manifest).get("settings")
        return deleted(Path("results"), targets) if made_with == json.loads(json.dumps(settings, default=str)) else []

    def results(self, datasets: Sequence[str]) -> list[str]:
        """Return the tables and figures of every study of these datasets, their models, and the verdicts on claims."""
        results = [f"results/claims/{joined(datasets)}/claims.md"] if self.run.has_claims(datasets) else []
        for name in datasets:
            results += self._results_of_dataset(name)
        for study in self.run.studies_of(datasets):
            block = self.run.study(study)
            results.append(f"{study.folder}/config.yaml")
            results += [self.run.table_file(study, table) for table in tables_of(block)]
            results += [f"{study.folder}/figures"] if block["figures"] else []
        return results

    def _results_of_dataset(self, name: str) -> list[str]:
        entry, offer = self.run.datasets[name], self.run.offers[name]
        results = [] if offer == "drawn" else [f"results/{name}/left_out.csv"]
        if offer == "pictures" and "descriptors" in entry["features"]["keep"]:
            results += self.inputs.shards(name, "descriptors", "npy")
        finals = [f"results/{name}/final/{norm}.csv" for norm in final_norms(entry)]
        finals += (
            [f"results/{name}/{file}" for file in ("norms.csv", "thresholds.csv", "model.skops")] if finals else []
        )
        finals += [f"results/{name}/stability.csv"] if "stability" in entry.get("final", {}) else []
        settings = [Study(name, study).folder for study in entry["settings"]]
        setting_files = [f"{folder}/{file}" for folder in settings for file in ("config.yaml", *TABLES_OF_SETTINGS)]
        return [*results, *finals, *setting_files]

    def tables(self, w: DatasetsWildcards) -> list[str]:
        """Return every table of these datasets, except for tables of timings, which differ in each run."""
        results = self.results(split(w))
        tables = results + [file.removesuffix("md") + "csv" for file in results if file.endswith("claims.md")]
        return [file for file in tables if file.endswith(".csv") and "/timings/" not in file]

    def settings_of_studies(self) -> dict[str, dict[str, Any]]:
        """Return a dictionary from the folders of studies to their settings. It includes studies that are not run."""
        settings = {}
        idle = [Study(name, study) for name in self.run.chosen for study in self.run.datasets[name]["settings"]]
        for study in [*self.run.studies_of(self.run.chosen), *idle]:
            entry = self.run.dataset(study)
            settings[study.folder] = {
                "seed": self.run.config["seed"],
                "datasets": {study.dataset: without(entry, "studies", "settings", "note", "features")},
                "features": entry["features"],
                "studies": {study.study: self.run.study(study)},
            }
        return settings

    def norms(self, datasets: Sequence[str]) -> list[str]:
        """Return the norms that the methods and experiments of these datasets use; many jobs may need their kernels."""
        blocks = [self.run.study(study) for study in self.run.studies_of(datasets)]
        methods = {method for block in blocks for method in block.get("methods", {}) if method != "svm-l2"}
        named = {method.rpartition("-")[2] for method in methods}
        kinds = {block["kind"] for block in blocks} & self.run.tables.keys()
        imported = {line.split()[0] for kind in kinds for line in code_of(self.run.files["experiments"][kind])}
        return sorted(norm for norm, file in self.run.files["norms"].items() if norm in named or file in imported)
