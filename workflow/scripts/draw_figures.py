"""Draw the figures of a study, each from the table that `FIGURES` in papers/catalogue.py names."""

from pathlib import Path

from job import job

from jointsparse.papers import catalogue
from jointsparse.provenance.tables import read_table, written


def main(figures, tables, beside_paper, folder):
    tables = {Path(file).stem: read_table(file) for file in tables}
    for figure in figures:
        kind = catalogue.FIGURES[figure]
        drawn = catalogue.draw(figure, tables[kind.table], beside=tables.get(kind.beside), beside_paper=beside_paper)
        for suffix in ("png", "pdf"):
            with written(Path(folder) / f"{figure}.{suffix}") as path:
                drawn.savefig(path, metadata={"CreationDate": None} if suffix == "pdf" else None)


if __name__ == "__main__":
    with job(snakemake):
        main(
            figures=list(snakemake.params.captions),
            tables=snakemake.input.tables,
            beside_paper=snakemake.params.beside_paper,
            folder=snakemake.output.figures,
        )
