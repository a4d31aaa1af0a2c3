"""Read and check the images and captions of a dataset."""

from job import job

from jointsparse.provenance.tables import write_table
from jointsparse.registry import pick


def main(loader, options, longest_side, extractor, extractor_options, output, progress):
    smallest_side = pick("features", extractor).smallest_side(**extractor_options)
    photographs = pick("datasets", loader).read(
        **options, smallest_side=smallest_side, longest_side=longest_side, progress=progress
    )
    for name, table in photographs._asdict().items():
        write_table(table, output[name])


if __name__ == "__main__":
    with job(snakemake) as progress:
        main(
            loader=snakemake.params.loader,
            options=snakemake.params.options,
            longest_side=snakemake.params.longest_side,
            extractor=snakemake.params.extractor,
            extractor_options=snakemake.params.extractor_options,
            output=snakemake.output,
            progress=progress,
        )
