"""Draw one figure, from the table that `FIGURES` in papers/catalogue.py names."""

from job import job

from jointsparse.papers import catalogue
from jointsparse.tables import read_table, written


def main(figure, table, outputs):
    drawn = catalogue.draw(figure, read_table(table))
    for output in outputs:
        with written(output) as path:
            drawn.savefig(path, metadata={"CreationDate": None} if path.suffix == ".pdf" else None)


if __name__ == "__main__":
    with job(snakemake):
        main(figure=snakemake.wildcards.figure, table=snakemake.input.table, outputs=snakemake.output)
