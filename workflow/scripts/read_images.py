"""Read and check the images and captions of a dataset."""

from job import job

from jointsparse.registry import pick
from jointsparse.tables import write_table


def main(loader, options, longest_side, extractor, extractor_options, output, progress):
    smallest_side = pick("features", extractor).smallest_side(**extractor_options)
    read = pick("datasets", loader).read
    tables = read(**options, smallest_side=smallest_side, longest_side=longest_side, progress=progress)
    for table, path in zip(tables, output, strict=True):
        write_table(table, path)


if __name__ == "__main__":
    with job(snakemake) as progress:
        p = snakemake.params
        main(p.loader, p.options, p.longest_side, p.extractor, p.extractor_options, snakemake.output, progress)
