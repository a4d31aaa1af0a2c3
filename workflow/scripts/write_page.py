"""Write the page of a dataset, with thumbnails of the images that it shows."""

import json
import os
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd
from job import job

from jointsparse.files import written
from jointsparse.pipeline.explorer import thumbnails
from jointsparse.pipeline.explorer.answers import kept_of
from jointsparse.pipeline.explorer.fits import fits_of, median_run
from jointsparse.pipeline.explorer.page import Study, page
from jointsparse.pipeline.papers.page import counts, section
from jointsparse.pipeline.provenance.tables import (
    read_array,
    read_features,
    read_matrix,
    read_record,
    read_table,
    write_table,
)
from jointsparse.pipeline.scores.scored_fits import ScoredFits
from jointsparse.pipeline.sweep import Sweep
from jointsparse.pipeline.tasks import names_of
from jointsparse.registry import pick


def read_study(name, files, figures, features, words, vocabulary):
    tables = {Path(file).stem: read_table(file) for file in files["tables"]}
    if "scores" not in files:
        return Study(name, tables, figures)
    scores, images, labels = (files[key][0] for key in ("scores", "images", "labels"))
    scores, is_test = read_record(ScoredFits, scores), (read_table(images, "split")["split"] == "test").to_numpy()
    shown = f"run{median_run(tables['chosen'])}"
    sweeps = [file for file in map(Path, files["sweeps"]) if file.parent.name == shown]
    sweeps = {file.stem: read_record(Sweep, file, scores.n.max()) for file in sweeps}
    names, X = names_of(tables["words"], read_array(labels)), read_features(features, words)
    fits = fits_of(names, X[is_test], scores, tables["chosen"], tables["sparsity"], sweeps)
    return Study(name, tables, figures, fits, np.flatnonzero(is_test), vocabulary.get(str(features), ()))


def read_kept(given, words, vocabulary):
    if not given.get("model"):
        return None, None
    from jointsparse.features.explain import Explainer, is_of_pictures  # here, as scikit-learn takes two seconds
    from jointsparse.files import load

    model, labels, images = load(given.model), read_array(given.labels), read_table(given.images, "image", "split")
    rows, has_maps = np.flatnonzero(images["split"] == "test"), is_of_pictures(model)
    known = pd.Index(images["image"]).get_indexer(model.known_names_)
    shown = {"known_images": known, "has_maps": has_maps, "names": vocabulary.get(str(given.features), ())}
    kept = kept_of(model, read_features(given.features, words)[rows], labels[rows], rows, **shown)
    return Explainer(model, kept.features) if has_maps else None, kept


if __name__ == "__main__":
    with job(snakemake) as progress:
        name, params, output = snakemake.wildcards.dataset, snakemake.params, snakemake.output
        files = {Path(file).stem: file for file in snakemake.input.files if Path(file).parent.name == name}
        tables = {key: read_table(files[key]) if key in files else None for key in ("images", "captions", "left_out")}
        folder = Path(output.page).parent
        dataset = pick("datasets", params.loader)
        shows = dataset.SHOWS if dataset.OFFERS == "samples" else dataset.OFFERS
        X = read_matrix(files["features"]) if shows == "pixels" else None
        names = dataset.feature_names(**params.options) if shows == "names" else ()
        vocabulary = {files.get("features"): names}  # a basis has other features

        own_files = "picture" in (tables["images"] if tables["images"] is not None else ())

        def image_of(row, longest_side):
            name = tables["images"]["picture" if own_files else "image"][row]
            return params.options | {"image": name, "longest_side": longest_side}

        def picture(row):
            if X is not None:
                return thumbnails.of_features(X[row].toarray()[0])
            return dataset.thumbnail(**image_of(row, thumbnails.LONGEST_SIDE))

        def thumbnail(row, *place):
            return thumbnails.file_of(row, *place) if image_of(row, 0)["image"] else None

        def original(row):
            file = dataset.file(**image_of(row, 0))
            return quote(os.path.relpath(file, folder).replace(os.sep, "/"))

        has_files = shows == "pictures" or own_files
        has_pictures = has_files or (shows == "pixels" and picture(0) is not None)
        judged = [table[table["dataset"] == name] for table in map(read_table, snakemake.input.claims)]
        judged = pd.concat(judged) if judged else None
        pictures = {(name, one, table): each for one, of in params.pictures.items() for table, each in of.items()}
        explainer, kept = read_kept(snakemake.input, params.vocabulary, vocabulary)
        made = page(
            name,
            [read_study(**one, vocabulary=vocabulary) for one in params.studies],
            **tables,
            claims="" if judged is None else section(judged, pictures),
            verdicts={} if judged is None else counts(judged),
            note=params.note,
            labels=dataset.LABELS,
            thumbnail=thumbnail if has_pictures else None,
            original=original if has_files and hasattr(dataset, "file") else None,
            kept=kept,
        )

        def maps_of(row):
            grey, places = dataset.picture(**image_of(row, params.longest_side)), list(made.maps[row])
            return zip(places, thumbnails.overlays(explainer.heats(grey, places), kept.spread[places]), strict=True)

        Path(output.thumbnails).mkdir(parents=True, exist_ok=True)
        for done, row in enumerate(made.images, start=1):
            (folder / thumbnails.file_of(row)).write_bytes(thumbnails.encoded(picture(row)))
            for k, overlay in maps_of(row) if row in made.maps else ():
                (folder / thumbnails.file_of(row, k)).write_bytes(overlay)
            progress(done, len(made.images))
        write_table(made.suspects, output.errors)
        for text, file in ((made.html, output.page), (json.dumps(made.findings), output.findings)):
            with written(file) as path:
                path.write_text(text, encoding="utf-8")
