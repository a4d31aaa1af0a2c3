"""Definitions shared by all rules: the environment of jobs, the checked configuration, and objects that rules use."""

import os
import sys
from functools import partial
from pathlib import Path

BASE = Path(workflow.current_basedir).parents[1]  # the same for either Snakefile, and for a workflow that uses this one
if os.pathsep in str(BASE):
    raise SystemExit(f"error: the workflow must be in a folder without {os.pathsep!r} in its path, got {BASE}: move it")
if sys.flags.optimize > 1:
    raise SystemExit("error: PYTHONOPTIMIZE must be less than 2, because captions and claims are docstrings")
if (BASE / "src").is_dir():
    # Jobs use the library of this checkout, even if pip has installed another copy.
    sys.path.insert(0, str(BASE / "src"))
    paths = [str(BASE / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ.update(PYTHONPATH=os.pathsep.join(paths))
sys.path.insert(0, str(BASE / "workflow"))
from jointsparse.pipeline.app.interrupt import end_interrupts_with

end_interrupts_with("error: interrupted\n")  # the imports below take a while
import configuration.code
from configuration import resources
from configuration.file import ConfigError, check_file
from configuration.found import Found
from configuration.inputs import Inputs
from configuration.pages import Pages
from configuration.report import in_report
from configuration.run import Run
from configuration.studies import WORDS, only, without
from configuration.targets import Targets
from configuration.wildcards import any_of
from jointsparse.pipeline.app import lock
from jointsparse.pipeline.app.blas import use_best_kernel
from jointsparse.pipeline.app.progress import attach, last_words, verified
from jointsparse.pipeline.provenance import records

RESULTS = Path("results")
progress = attach(workflow, without_jobs=partial(verified, RESULTS))
IS_RUN = workflow.is_main_process  # False in the process of a job
if not IS_RUN:
    use_best_kernel()  # chosen for the job's machine; a local run chooses its kernel when it starts
for library in ("NUMBA", "OMP", "OPENBLAS", "MKL"):
    # One thread per job, so that sums are added in the same order on any number of cores.
    os.environ[f"{library}_NUM_THREADS"] = "1"

os.environ.setdefault(records.COMMIT, records.commit())
SEEN_CODE = "results/records/code.json"
configuration.code.recall(SEEN_CODE)

# The config.yaml that comes with the workflow, overridden by the config.yaml of this folder.
SETTINGS = list(dict.fromkeys(file.resolve() for file in (BASE / "config.yaml", Path("config.yaml")) if file.exists()))
try:
    if IS_RUN:
        resources.require_cores(workflow.resource_settings)
        for file in filter(Path.exists, (*SETTINGS, *map(Path, workflow.overwrite_configfiles))):
            check_file(file)
except ConfigError as error:
    raise SystemExit(f"error: {error}")


for file in SETTINGS:

    configfile: str(file)


try:
    if IS_RUN:
        from configuration.check import check  # imported here because it loads many modules

        check(config, BASE / "workflow" / "config.schema.yaml")
    run = Run(config, Found(fresh=IS_RUN))
    if IS_RUN:
        run.require_raw_files()
except ConfigError as error:
    raise SystemExit(f"error: {error}")
config["datasets"] = run.config["datasets"]  # includes the datasets of quick runs, because job messages look them up

inputs = Inputs(run)
pages, targets = Pages(run, inputs), Targets(run, inputs)
code = partial(configuration.code.params_of, BASE / "workflow" / "scripts", run.files)
needs = resources.needs(lambda w: run.raw(w)["paths"])


localrules:  # not worth a cluster job: they compute nothing
    write_configs,
    write_index,


wildcard_constraints:
    datasets=rf"({any_of(run.datasets)})(\+({any_of(run.datasets)}))*",
    dataset=any_of(run.datasets),
    study=any_of(config["studies"]),
    run=r"\d+",
    shard=r"\d+",
    shards=r"\d+",
    folder="tables|timings",
    loss=any_of(run.files["losses"]),
    norm=any_of(run.files["norms"]),
