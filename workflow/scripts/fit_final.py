"""Fit one model on all training and validation images of a study, and evaluate it on the test images."""

from job import job

from jointsparse.features.basis import factors
from jointsparse.pipeline.models import final
from jointsparse.pipeline.provenance.tables import (
    read_array,
    read_arrays,
    read_features,
    read_groups,
    read_table,
    write_arrays,
    write_table,
)
from jointsparse.pipeline.words import names_of

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
            groups=read_groups(given.images),
        )
        write_arrays(output.model, **final.Fit.of(fitted.model)._asdict())
        write_table(table, output.table)
