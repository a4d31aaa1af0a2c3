"""Judge the claims that the studies test: write the estimates and verdicts as tables, and pages that show them."""

from pathlib import Path

import pandas as pd
from job import job

from jointsparse.pipeline.papers import page, verdicts
from jointsparse.pipeline.provenance.tables import read_table, write_table
from jointsparse.written import written


def judge_study(ids, tables, demonstration, **origin):
    judged = verdicts.judge({Path(file).stem: read_table(file) for file in tables}, ids, demonstration=demonstration)
    return judged.assign(source=judged["table"].map({Path(file).stem: file for file in tables}), **origin)


if __name__ == "__main__":
    with job(snakemake):
        judged = pd.concat([judge_study(**study) for study in snakemake.params.studies], ignore_index=True)
        for rows, table, text in (
            (~judged["timed"], snakemake.output.table, snakemake.output.page),
            (judged["timed"], snakemake.output.timed, snakemake.output.timed_page),
        ):
            write_table(judged[rows], table)
            with written(text) as path:
                path.write_text(page.page(judged[rows]), encoding="utf-8")
        with written(snakemake.output.overview) as path:
            path.write_text(page.document(judged), encoding="utf-8")
