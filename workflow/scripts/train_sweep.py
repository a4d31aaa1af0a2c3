"""Train every pair of first step size and radius, for one loss and norm."""

from functools import partial

from job import job, part_of

from jointsparse.features.basis import factors
from jointsparse.learning import sweep
from jointsparse.learning.tasks import Tasks
from jointsparse.provenance.tables import read_arrays, read_matrix, read_record, write_records


def main(features, basis, tasks, powers, loss, norm, grid, training, output, progress):
    X, tasks = read_matrix(features), read_record(Tasks, tasks)
    sizes = tasks.each_size()
    scales = factors(*read_arrays(basis, "singular_values").values(), powers) if basis else {}
    sweeps = {}
    for done, n in enumerate(sizes):
        options = {"loss": loss, "norm": norm, "progress": part_of(progress, done, len(sizes))} | grid | training
        sweeps[n] = sweep.in_powers(X, scales, partial(sweep.run, Y=tasks.training_sets(n), **options))
    write_records(output, sweeps)


if __name__ == "__main__":
    with job(snakemake) as progress:
        main(
            features=snakemake.input.features,
            basis=snakemake.input.basis,
            tasks=snakemake.input.tasks,
            powers=snakemake.params.powers,
            loss=snakemake.wildcards.loss,
            norm=snakemake.wildcards.norm,
            grid=snakemake.params.grid,
            training=snakemake.params.training,
            output=snakemake.output.sweep,
            progress=progress,
        )
