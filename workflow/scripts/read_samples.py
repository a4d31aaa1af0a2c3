"""Read and check a dataset whose features are given."""

from job import job

from jointsparse.registry import pick

if __name__ == "__main__":
    with job(snakemake):
        samples = pick("datasets", snakemake.params.loader).read(**snakemake.params.options)
        samples.write(**dict(snakemake.output.items()))
