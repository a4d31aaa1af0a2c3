"""Write the list of all pages."""

import json
from pathlib import Path

from job import job

from jointsparse.explorer.frame import index
from jointsparse.provenance.tables import written


def main(findings, output):
    with written(output) as path:
        path.write_text(index([json.loads(Path(file).read_bytes()) for file in findings]), encoding="utf-8")


if __name__ == "__main__":
    with job(snakemake):
        main(findings=snakemake.input.findings, output=snakemake.output.index)
