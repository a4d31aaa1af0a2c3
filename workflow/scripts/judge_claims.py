"""Judge the papers' claims that a study tests: each gets its number and verdict."""

from pathlib import Path

from job import job

from jointsparse.papers import claims
from jointsparse.tables import read_table, write_table


def main(tables, ids, origin, output):
    judged = claims.judge({Path(file).stem: read_table(file) for file in tables}, ids)
    source = judged["table"].map({Path(file).stem: file for file in tables})
    write_table(judged.assign(source=source, **origin), output)


if __name__ == "__main__":
    with job(snakemake):
        main(
            tables=snakemake.input.tables,
            ids=snakemake.params.ids,
            origin={
                "dataset": snakemake.wildcards.dataset,
                "study": snakemake.wildcards.study,
                "seed": snakemake.params.seed,
                "config": snakemake.params.config,
                "note": snakemake.params.note,
            },
            output=snakemake.output.claims,
        )
