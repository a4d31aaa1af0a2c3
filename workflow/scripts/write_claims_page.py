"""The claims of all studies that were run, on one page."""

import pandas as pd
from job import job

from jointsparse import claims_page
from jointsparse.tables import read_table, write_table, written


def main(files, output):
    judged = pd.concat(map(read_table, files), ignore_index=True)
    write_table(judged[~judged["timed"]], output.table)
    write_table(judged[judged["timed"]], output.timed)
    with written(output.page) as path:
        path.write_text(claims_page.page(judged))


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.claims, snakemake.output)
