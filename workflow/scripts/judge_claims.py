"""The papers' claims that a study tests, each with its number and verdict."""

from pathlib import Path

from job import job

from jointsparse.papers import claims
from jointsparse.tables import read_table, write_table


def main(files, ids, origin, output):
    judged = claims.judge({Path(file).stem: read_table(file) for file in files}, ids)
    source = judged["table"].map({Path(file).stem: file for file in files})
    write_table(judged.assign(source=source, **origin), output)


if __name__ == "__main__":
    with job(snakemake):
        i, p, w = snakemake.input, snakemake.params, snakemake.wildcards
        origin = {"dataset": w.dataset, "study": w.study, "seed": p.seed, "config": i.config, "note": p.note}
        main(i.tables, p.ids, origin, snakemake.output[0])
