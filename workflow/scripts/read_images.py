"""Read and check the images and captions of a dataset."""

from job import job

from jointsparse.pipeline.datasets.samples import at_most
from jointsparse.pipeline.provenance.tables import write_table
from jointsparse.registry import pick

if __name__ == "__main__":
    with job(snakemake) as progress:
        tables = pick("datasets", snakemake.params.loader).read(
            **snakemake.params.options,
            smallest_side=pick("features", snakemake.params.extractor).smallest_side(
                **snakemake.params.extractor_options
            ),
            longest_side=snakemake.params.longest_side,
            progress=progress,
        )
        tables = at_most(tables, *snakemake.params.drawn)
        for name, table in tables._asdict().items():
            write_table(table, snakemake.output[name])
