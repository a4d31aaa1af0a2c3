"""Apply the decisions of a person to the labels of a dataset."""

from job import job

from jointsparse.pipeline.datasets.corrections import applied, read
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.provenance.tables import read_table, write_table

if __name__ == "__main__":
    with job(snakemake):
        (file,) = snakemake.params.raw["paths"]
        tables = {name: read_table(path) for name, path in snakemake.input.items()}
        samples = applied(Samples(**tables), read(file), file if snakemake.params.is_whole else None)
        for name, path in snakemake.output.items():
            write_table(getattr(samples, name), path)
