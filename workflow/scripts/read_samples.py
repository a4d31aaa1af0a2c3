"""Read and check a dataset whose features are given."""

from job import job

from jointsparse.registry import pick


def main(loader, options, output):
    pick("datasets", loader).read(**options).write(**output)


if __name__ == "__main__":
    with job(snakemake):
        main(
            loader=snakemake.params.loader,
            options=snakemake.params.options,
            output=dict(snakemake.output.items()),
        )
