"""Write the page of a dataset, with thumbnails of the images that it shows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from job import job

from jointsparse.explorer import thumbnails
from jointsparse.explorer.fits import fits_of
from jointsparse.explorer.page import Figure, Study, page
from jointsparse.learning.sweep import Sweep
from jointsparse.learning.tasks import names_of
from jointsparse.papers.page import counts, section
from jointsparse.provenance.tables import read_array, read_matrix, read_record, read_table, written
from jointsparse.registry import pick
from jointsparse.scores.metrics import Scores


def read_study(name, files, figures, vocabulary, given):
    tables = {Path(file).stem: read_table(file) for file in files["tables"]}
    drawn = [Figure(f"{name}/figures/{figure}.png", *about) for figure, about in figures.items()]
    if "scores" not in files:
        return Study(name, tables, drawn)
    scores, images, features, labels = (files[key][0] for key in ("scores", "images", "features", "labels"))
    is_test = (read_table(images, "split")["split"] == "test").to_numpy()
    scores = read_record(Scores, scores)
    sweeps = {Path(file).stem: read_record(Sweep, file, scores.n.max()) for file in files["sweeps"]}
    X = read_matrix(features)[is_test]
    words = names_of(tables["words"], read_array(labels))
    fits = fits_of(words, X, scores, tables["chosen"], tables["sparsity"], sweeps)
    names = vocabulary if features == given else ()  # a basis has other features
    return Study(name, tables, drawn, fits, np.flatnonzero(is_test), names)


def main(files, claims, studies, loader, options, note, wildcards, output, progress):
    files = {Path(file).stem: file for file in files if Path(file).parent.name == wildcards.dataset}
    images, captions, left_out = (
        read_table(files[name]) if name in files else None for name in ("images", "captions", "left_out")
    )
    dataset = pick("datasets", loader)
    judged = [read_table(file) for file in claims]
    judged = pd.concat([rows[rows["dataset"] == wildcards.dataset] for rows in judged]) if judged else None
    X = read_matrix(files["features"]) if "features" in files else None
    has_pictures = X is None and dataset.OFFERS == "pictures"
    has_pictures |= hasattr(dataset, "PIXELS") and thumbnails.of_features(X[0].toarray()[0]) is not None
    vocabulary = dataset.feature_names(**options) if hasattr(dataset, "feature_names") else ()
    made = page(
        wildcards.dataset,
        [read_study(**one, vocabulary=vocabulary, given=files.get("features")) for one in studies],
        images=images,
        captions=captions,
        left_out=left_out,
        claims="" if judged is None else section(judged, figures_of_tables(wildcards.dataset, studies)),
        verdicts="none" if judged is None else counts(judged),
        note=note,
        thumbnail=thumbnails.file_of if has_pictures else None,
    )
    Path(output.thumbnails).mkdir(parents=True, exist_ok=True)
    for done, row in enumerate(made.images, start=1):
        if X is None:
            picture = dataset.thumbnail(images["image"][row], **options, longest_side=thumbnails.LONGEST_SIDE)
        else:
            picture = thumbnails.of_features(X[row].toarray()[0])
        with written(Path(output.page).parent / thumbnails.file_of(row)) as path:
            path.write_bytes(thumbnails.encoded(picture))
        progress(done, len(made.images))
    for text, file in ((made.html, output.page), (json.dumps(made.findings), output.findings)):
        with written(file) as path:
            path.write_text(text, encoding="utf-8")


def figures_of_tables(dataset, studies):
    figures = {}
    for one in studies:
        for figure, (_, tables) in one["figures"].items():
            for table in tables:
                figures.setdefault((dataset, one["name"], table), []).append(f"{one['name']}/figures/{figure}.png")
    return figures


if __name__ == "__main__":
    with job(snakemake) as progress:
        main(
            files=snakemake.input.files,
            claims=snakemake.input.claims,
            studies=snakemake.params.studies,
            loader=snakemake.params.loader,
            options=snakemake.params.options,
            note=snakemake.params.note,
            output=snakemake.output,
            wildcards=snakemake.wildcards,
            progress=progress,
        )
