"""Fit one model on all training and validation images of a study, and test it once."""

from job import job

from jointsparse.features.basis import factors
from jointsparse.kept import final
from jointsparse.kept.file import save
from jointsparse.learning.tasks import names_of
from jointsparse.provenance.tables import (
    read_array,
    read_arrays,
    read_features,
    read_table,
    write_arrays,
    write_table,
)

if __name__ == "__main__":
    with job(snakemake):
        given, params, output = snakemake.input, snakemake.params, snakemake.output
        labels = read_array(given.labels)
        scales = factors(*read_arrays(given.basis, "singular_values").values(), params.powers) if params.powers else {}
        fitted, table = final.fit_and_test(
            read_features(given.features, params.vocabulary),
            labels,
            read_table(given.images, "split")["split"].to_numpy(),
            names_of(read_table(given.words), labels),
            norm=snakemake.wildcards.norm,
            scales=scales,
            n_resamples=params.n_resamples,
            seed=params.seed,
        )
        save(fitted.model, output.model)
        write_arrays(output.scores, power=fitted.power, scores=fitted.scores, labels=fitted.labels)
        write_table(table, output.table)
