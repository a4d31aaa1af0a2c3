"""Read and check a dataset whose features are given."""

from job import job

from jointsparse.registry import pick

if __name__ == "__main__":
    with job(snakemake):
        dataset = pick("datasets", snakemake.params.loader)
        dataset.read(**snakemake.params.options).write(**dict(snakemake.output.items()))
