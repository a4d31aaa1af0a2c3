"""Write down the settings that a study was run with."""

import yaml
from job import job

from jointsparse.tables import written


def main(settings, output):
    with written(output) as path:
        path.write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True))


if __name__ == "__main__":
    with job(snakemake):
        main(settings=snakemake.params.settings, output=snakemake.output.config)
