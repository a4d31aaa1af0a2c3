"""Draw the figures of a study, each from the table that FIGURES names (pipeline/papers/catalogue.py)."""

from pathlib import Path

from job import job

from jointsparse.pipeline.papers import catalogue
from jointsparse.pipeline.provenance.tables import read_table
from jointsparse.written import written

if __name__ == "__main__":
    with job(snakemake):
        Path(snakemake.output.figures).mkdir(exist_ok=True)  # even if the study has no figures
        tables = {Path(file).stem: read_table(file) for file in snakemake.input.tables}
        for figure in snakemake.params.captions:
            kind = catalogue.FIGURES[figure]
            drawn = catalogue.draw(
                figure,
                tables[kind.table],
                beside=tables.get(kind.beside),
                beside_paper=snakemake.params.beside_paper,
            )
            for suffix, metadata in (("png", None), ("pdf", {"CreationDate": None})):
                with written(Path(snakemake.output.figures) / f"{figure}.{suffix}") as path:
                    drawn.savefig(path, metadata=metadata)
