"""Write the claims of all studies that were run on one page."""

from job import job

from jointsparse.checks import Misfit
from jointsparse.papers import page
from jointsparse.tables import read_tables, write_table, written


def main(claims, output):
    judged = read_tables(claims, *page.COLUMNS, *page.ORIGINS)
    studies = sorted(set(zip(judged["dataset"], judged["study"], strict=True)))
    if len(studies) != len(claims):
        raise Misfit(f"expected the verdicts of {len(claims)} studies, got {studies}")
    write_table(judged[~judged["timed"]], output.table)
    write_table(judged[judged["timed"]], output.timed)
    with written(output.page) as path:
        path.write_text(page.page(judged))


if __name__ == "__main__":
    with job(snakemake):
        main(claims=snakemake.input.claims, output=snakemake.output)
