"""Write down the settings that each study was run with."""

import yaml
from job import job

from jointsparse.provenance.tables import written


def main(settings, outputs):
    for output, block in zip(outputs, settings, strict=True):
        with written(output) as path:
            path.write_text(yaml.safe_dump(block, sort_keys=False, allow_unicode=True), encoding="utf-8")


if __name__ == "__main__":
    with job(snakemake):
        main(settings=snakemake.params.settings, outputs=snakemake.output.configs)
