"""The papers' claims that a study tests, each with its number and verdict."""

from pathlib import Path

from job import job

from jointsparse import claims
from jointsparse.tables import read_table, write_table


def main(dataset, study, files, ids, seed, config, output):
    judged = claims.judge({Path(file).stem: read_table(file) for file in files}, ids)
    source = judged["table"].map({Path(file).stem: file for file in files})
    write_table(judged.assign(dataset=dataset, study=study, source=source, seed=seed, config=config), output)


if __name__ == "__main__":
    with job(snakemake):
        i, p, w = snakemake.input, snakemake.params, snakemake.wildcards
        main(w.dataset, w.study, i.tables, p.ids, p.seed, i.config, snakemake.output[0])
