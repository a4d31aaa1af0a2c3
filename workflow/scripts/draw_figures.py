"""Draw the figures of a study, each from the table that `FIGURES` in papers/catalogue.py names."""

from pathlib import Path

from job import job

from jointsparse.papers import catalogue
from jointsparse.tables import read_table, written


def main(figures, tables, folder):
    tables = {Path(file).stem: read_table(file) for file in tables}
    for figure in figures:
        drawn = catalogue.draw(figure, tables[catalogue.FIGURES[figure].table])
        for suffix in ("png", "pdf"):
            with written(Path(folder) / f"{figure}.{suffix}") as path:
                drawn.savefig(path, metadata={"CreationDate": None} if suffix == "pdf" else None)


if __name__ == "__main__":
    with job(snakemake):
        main(
            figures=list(snakemake.params.captions),
            tables=snakemake.input.tables,
            folder=snakemake.output.figures,
        )
