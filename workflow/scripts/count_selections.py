"""Count how often each feature is selected on random halves of the images from which the saved model has learnt."""

import numpy as np
from job import job

from jointsparse.arrays import select
from jointsparse.pipeline.models import final
from jointsparse.pipeline.models.model_file import load
from jointsparse.pipeline.models.stability import stability
from jointsparse.pipeline.provenance.tables import (
    read_array,
    read_arrays,
    read_features,
    read_groups,
    read_table,
    write_table,
)

if __name__ == "__main__":
    with job(snakemake):
        given, params = snakemake.input, snakemake.params
        known = np.isin(read_table(given.images, "split")["split"], final.KNOWN)
        groups = read_groups(given.images)
        basis = read_arrays(given.basis, "singular_values") if given.get("basis") else {}
        table = stability(
            load(given.model),
            select(read_features(given.features, params.vocabulary), known, "features"),
            select(read_array(given.labels), known, "labels"),
            singular_values=basis.get("singular_values"),
            n_pairs=params.n_pairs,
            seed=params.seed,
            groups=None if groups is None else groups[known],
        )
        write_table(table, snakemake.output.table)
