"""Read and check a dataset whose features are given."""

from job import job

from jointsparse.registry import pick
from jointsparse.tables import write_matrix, write_table


def main(loader, options, output):
    samples = pick("datasets", loader).read(**options)
    for name in ("images", "captions", "left_out"):
        write_table(getattr(samples, name), output[name])
    write_matrix(output.features, samples.X)


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.params.loader, snakemake.params.options, snakemake.output)
