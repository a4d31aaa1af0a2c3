"""Apply the decisions of a person to the labels of a dataset."""

from job import job

from jointsparse.pipeline.datasets.corrections import applied, read
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.provenance.tables import read_table, write_table

if __name__ == "__main__":
    with job(snakemake):
        (file,) = snakemake.params.raw["paths"]
        tables = {name: read_table(path) for name, path in snakemake.input.items()}
        decisions, output = read(file), snakemake.output
        samples = applied(Samples(**tables), decisions, file if snakemake.params.is_whole else None)
        written = (
            (decisions, output.decisions),
            (samples.captions, output.captions),
            (samples.left_out, output.left_out),
        )
        for table, path in written:
            write_table(table, path)
