"""The claims of all studies that were run, on one page."""

from job import job

from jointsparse.checks import Misfit
from jointsparse.papers import page
from jointsparse.tables import read_tables, write_table, written


def main(files, output):
    judged = read_tables(files, *page.COLUMNS, *page.ORIGINS)
    studies = sorted(set(zip(judged["dataset"], judged["study"], strict=True)))
    if len(studies) != len(files):
        raise Misfit(f"expected the verdicts of {len(files)} studies, got {studies}")
    write_table(judged[~judged["timed"]], output.table)
    write_table(judged[judged["timed"]], output.timed)
    with written(output.page) as path:
        path.write_text(page.page(judged))


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.claims, snakemake.output)
