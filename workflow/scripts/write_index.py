"""Write the page that lists the pages of a run."""

import json
from pathlib import Path

from job import job

from jointsparse.pipeline.explorer.frame import index
from jointsparse.written import written

if __name__ == "__main__":
    with job(snakemake), written(snakemake.output.index) as path:
        found = [json.loads(Path(file).read_bytes()) for file in snakemake.input.findings]
        path.write_text(index(found), encoding="utf-8")
