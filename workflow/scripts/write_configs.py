"""Write the settings of each study to a file."""

import yaml
from job import job

from jointsparse.written import written

if __name__ == "__main__":
    with job(snakemake):
        for output, block in zip(snakemake.output.configs, snakemake.params.settings, strict=True):
            with written(output) as path:
                path.write_text(yaml.safe_dump(block, sort_keys=False, allow_unicode=True), encoding="utf-8")
