"""Write the page that lists the datasets of a run: the model of each dataset, and the results of its studies."""

import json
from pathlib import Path

from job import job

from jointsparse.pipeline.page.index import StudyResults, index
from jointsparse.pipeline.papers.page import sentences_of_studies
from jointsparse.pipeline.provenance.tables import read_table
from jointsparse.written import written

if __name__ == "__main__":
    with job(snakemake):
        given, params, root = snakemake.input, snakemake.params, Path(snakemake.output.index).parent
        found = [json.loads(Path(file).read_bytes()) for file in given.findings]
        models = {findings["dataset"]: findings for findings in found}
        claims = sentences_of_studies([read_table(file) for file in given.claims])

        def results_of(dataset, study, tables, figures):
            shown = [read_table(root / tables[name]) if name in tables else None for name in ("means", "warnings")]
            return StudyResults(study, figures, tables, claims.get((dataset, study), ""), *shown)

        datasets = [
            entry
            | {"model": models.get(entry["dataset"])}
            | {"studies": [results_of(entry["dataset"], **study) for study in entry["studies"]]}
            for entry in params.datasets
        ]
        with written(snakemake.output.index) as path:
            path.write_text(index(datasets, params.overview), encoding="utf-8")
