"""Write the page of a dataset, with thumbnails of the images that it shows."""

import json
from functools import partial
from pathlib import Path

import pandas as pd
from job import job

from jointsparse.pipeline.explorer import inputs
from jointsparse.pipeline.explorer.page import page
from jointsparse.pipeline.papers.page import counts, section
from jointsparse.pipeline.provenance.tables import read_table, write_table
from jointsparse.registry import pick
from jointsparse.written import written

if __name__ == "__main__":
    with job(snakemake) as progress:
        given, params, output = snakemake.input, snakemake.params, snakemake.output
        name, folder = snakemake.wildcards.dataset, Path(output.page).parent
        files = {Path(file).stem: file for file in given.files if Path(file).parent.name == name}
        tables = {key: read_table(files[key]) if key in files else None for key in ("images", "captions", "left_out")}
        loader = pick("datasets", params.loader)
        images = inputs.Images(loader, params.options, tables["images"], files.get("features"))
        names = {files.get("features"): images.names}  # features in a basis have no names
        judged = [table[table["dataset"] == name] for table in map(read_table, given.claims)]
        judged = pd.concat(judged) if judged else None
        pictures = {(name, study, table): shown for study, of in params.pictures.items() for table, shown in of.items()}
        kept, network = None, params.network["path"] if params.network else None
        if given.get("model"):
            kept = inputs.read_kept(
                given.model,
                given.labels,
                given.images,
                given.features,
                network=network,
                vocabulary=params.vocabulary,
                names=names.get(str(given.features), ()),
                fits=inputs.read_fits(
                    given.norms,
                    given.thresholds,
                    given.get("stability"),
                    given.images,
                    tables["captions"],
                    {"words": given.words, "odd_features": given.odd_features} if given.get("odd_features") else {},
                    params.words,
                ),
            )
        made = page(
            name,
            [inputs.read_study(**study, names=names.get(str(study["features"]), ())) for study in params.studies],
            **tables,
            claims="" if judged is None else section(judged, pictures),
            verdicts={} if judged is None else counts(judged),
            note=params.note,
            labels=loader.LABELS,
            thumbnail=images.file if images.are_pictures else None,
            original=partial(images.original, folder=folder) if images.are_files and hasattr(loader, "file") else None,
            kept=kept,
            network=network,
        )
        Path(output.thumbnails).mkdir(parents=True, exist_ok=True)
        inputs.write_thumbnails(folder, made, images, kept, longest_side=params.longest_side, progress=progress)
        write_table(made.suspects, output.errors)
        for text, file in ((made.html, output.page), (json.dumps(made.findings), output.findings)):
            with written(file) as path:
                path.write_text(text, encoding="utf-8")
