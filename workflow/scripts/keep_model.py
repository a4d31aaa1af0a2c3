"""Keep a final fit with all that leads to it in one file."""

from job import job

from jointsparse.checks import select
from jointsparse.features import vocabulary_tree
from jointsparse.features.basis import Basis
from jointsparse.files import load, save
from jointsparse.pipeline.models import annotator
from jointsparse.pipeline.models.final import KNOWN, Final
from jointsparse.pipeline.provenance.tables import read_arrays, read_features, read_record, read_table
from jointsparse.registry import pick

if __name__ == "__main__":
    with job(snakemake):
        given, params, steps = snakemake.input, snakemake.params, []
        images = read_table(given.images, "image", "split")
        split = images["split"].to_numpy()
        if params.features:
            block, idf = params.features["vocabularies"][params.vocabulary], f"{params.vocabulary}/idf"
            steps = annotator.of_pictures(
                extractor=params.features["extractor"],
                options=params.features["options"],
                longest_side=params.features["longest_side"],
                tree=read_record(vocabulary_tree.Tree, given.vocabularies, params.vocabulary),
                weighting={key: block[key] for key in ("weighting", "normalise")},
                idf=read_arrays(given.vocabularies, idf)[idf] if block["weighting"] == "tf-idf" else None,
            )
        dataset, columns = pick("datasets", params.loader), []
        if params.features is None and dataset.SHOWS == "names":
            columns = dataset.feature_names(**params.options)
        fitted = Final(load(given.model), **read_arrays(given.scores))
        origin = {"dataset": snakemake.wildcards.dataset, "study": params.study, "seed": params.seed}
        model = annotator.annotator(
            fitted,
            names=images["image"][images["split"].isin(KNOWN)],
            steps=steps,
            basis=read_record(Basis, given.basis) if given.get("basis") else None,
            columns=columns,
            card=annotator.card_of(fitted, read_table(given.table), **origin, raw=params.raw["digest"]),
        )
        save(
            annotator.with_check(
                model, select(read_features(given.features, params.vocabulary), split == "test", "features")
            ),
            snakemake.output.model,
        )
