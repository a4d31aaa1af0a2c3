"""Draw the figures of a study, each from the table that `FIGURES` in papers/catalogue.py names."""

from pathlib import Path

from job import job

from jointsparse.papers import catalogue
from jointsparse.provenance.tables import read_table, written

if __name__ == "__main__":
    with job(snakemake):
        tables = {Path(file).stem: read_table(file) for file in snakemake.input.tables}
        for figure in snakemake.params.captions:
            kind, beside_paper = catalogue.FIGURES[figure], snakemake.params.beside_paper
            beside = tables.get(kind.beside)
            drawn = catalogue.draw(figure, tables[kind.table], beside=beside, beside_paper=beside_paper)
            for suffix, metadata in (("png", None), ("pdf", {"CreationDate": None})):
                with written(Path(snakemake.output.figures) / f"{figure}.{suffix}") as path:
                    drawn.savefig(path, metadata=metadata)
