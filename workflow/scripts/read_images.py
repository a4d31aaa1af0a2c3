"""Read and check the images and captions of a dataset."""

from job import job

from jointsparse.provenance.tables import write_table
from jointsparse.registry import pick

if __name__ == "__main__":
    with job(snakemake) as progress:
        params = snakemake.params
        photographs = pick("datasets", params.loader).read(
            **params.options,
            smallest_side=pick("features", params.extractor).smallest_side(**params.extractor_options),
            longest_side=params.longest_side,
            progress=progress,
        )
        for name, table in photographs._asdict().items():
            write_table(table, snakemake.output[name])
