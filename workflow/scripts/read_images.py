"""Read and check the images and captions of a dataset."""

from job import job

from jointsparse.pipeline.datasets.samples import at_most
from jointsparse.registry import pick

if __name__ == "__main__":
    with job(snakemake) as progress:
        samples = pick("datasets", snakemake.params.loader).read(
            **snakemake.params.options,
            smallest_side=pick("features", snakemake.params.extractor).smallest_side(
                **snakemake.params.extractor_options
            ),
            longest_side=snakemake.params.longest_side,
            progress=progress,
        )
        at_most(samples, *snakemake.params.drawn).write(**dict(snakemake.output.items()))
