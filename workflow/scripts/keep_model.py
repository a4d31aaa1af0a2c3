"""Save one of the final fits of a dataset, with all steps from raw data to probabilities, and compare the fits."""

from pathlib import Path

import numpy as np
from job import job

from jointsparse.arrays import select
from jointsparse.features import vocabulary_tree
from jointsparse.features.basis import Basis, factors
from jointsparse.features.embedding import fitted
from jointsparse.pipeline.models import annotator, final
from jointsparse.pipeline.models.model_file import save
from jointsparse.pipeline.models.tags_to_check import tags_to_check
from jointsparse.pipeline.provenance.tables import (
    read_array,
    read_arrays,
    read_features,
    read_groups,
    read_record,
    read_table,
    write_table,
)
from jointsparse.pipeline.words import as_words
from jointsparse.registry import pick


def first_steps(given, params):
    """Return the steps of the model that turn pictures into features; none if the dataset brings features."""
    if params.network:
        return [("describe", fitted(params.features["options"], params.network["digest"]))]
    if not params.features:
        return []
    block, idf = params.features["vocabularies"][params.vocabulary], f"{params.vocabulary}/idf"
    return annotator.of_pictures(
        extractor=params.features["extractor"],
        options=params.features["options"],
        longest_side=params.features["longest_side"],
        tree=read_record(vocabulary_tree.Tree, given.vocabularies, params.vocabulary),
        weighting={key: block[key] for key in ("weighting", "normalise")},
        idf=read_arrays(given.vocabularies, idf)[idf] if block["weighting"] == "tf-idf" else None,
    )


def feature_names(params):
    """Return the names of the features that a dataset brings; none if the features have no names."""
    dataset = pick("datasets", params.loader)
    return dataset.feature_names(**params.options) if dataset.SHOWS == "names" else []


if __name__ == "__main__":
    with job(snakemake):
        given, params = snakemake.input, snakemake.params
        images = read_table(given.images, "image", "split")
        split, groups = images["split"].to_numpy(), read_groups(given.images)
        known, on_test = np.isin(split, final.KNOWN), split == "test"
        fits = {Path(file).stem: read_record(final.Fit, file) for file in given.models}
        tables = dict(zip(fits, map(read_table, given.tables), strict=True))
        norm = final.chosen_norm(fits) if params.kept == "auto" else params.kept
        power = float(tables[norm]["power"].iloc[0])
        basis = read_record(Basis, given.basis) if given.get("basis") else None
        features, labels = read_features(given.features, params.vocabulary), read_array(given.labels)
        transformed = read_features(given.transformed, params.vocabulary) if basis else features
        kept = final.calibrated(
            final.Chosen(fits[norm].model(), power, labels[known]),
            select(transformed, known, "features"),
            factors(basis.singular_values, [power])[power] if basis else None,
            None if groups is None else groups[known],
        )
        X, test_labels = select(features, on_test, "features"), select(labels, on_test, "labels")
        model = annotator.annotator(
            kept,
            tables[norm],
            X,
            names=images["image"][known],
            steps=first_steps(given, params),
            basis=basis,
            columns=feature_names(params),
            dataset=snakemake.wildcards.dataset,
            study=params.study,
            seed=params.seed,
            raw=params.raw["digest"],
        )
        scores = np.asarray(model[model.check_["first_step"] :].decision_function(X))
        decided = None
        if given.get("decisions"):
            decided = as_words(read_table(given.decisions), model.card_.words, **params.forms)
        listed = tags_to_check(model, scores, test_labels, names=images["image"][on_test], decided=decided)
        save(model, snakemake.output.model)
        write_table(final.norms(fits, list(tables.values()), norm), snakemake.output.norms)
        write_table(annotator.at_precisions(model, scores, test_labels), snakemake.output.thresholds)
        write_table(listed, snakemake.output.tags)
