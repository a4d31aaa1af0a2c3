"""Read and check a dataset that comes as features with labels."""

from job import job

from jointsparse.pipeline.datasets.samples import at_most
from jointsparse.registry import pick

if __name__ == "__main__":
    with job(snakemake):
        dataset = pick("datasets", snakemake.params.loader)
        samples = dataset.read(**snakemake.params.options)
        at_most(samples, *snakemake.params.drawn).write(**dict(snakemake.output.items()))
