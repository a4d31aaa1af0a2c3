"""Definitions shared by all rules: the environment of jobs, the checked configuration, and objects that rules use."""

import gc
import os
import sys
from functools import partial
from pathlib import Path

# Jobs and settings live until the end. Searching them for garbage again and again would take a sixth of the start.
gc.freeze()
gc.set_threshold(50_000, 20, 20)

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
from jointsparse.pipeline.app.interrupt import RESUME, end_interrupts_with

end_interrupts_with(f"{RESUME}\n")  # the imports below take a while
import code_hashes
import cluster_resources
from code_hashes import plug_in_file
from plan import MEASURED, NETWORK, REPEATED, Plan, any_of
from raw import Found

from jointsparse.pipeline.app import lock
from jointsparse.pipeline.app.blas import use_best_kernel
from jointsparse.pipeline.app.plain_yaml import load_file
from jointsparse.pipeline.app.progress import attach, last_words, verified
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.settings import SettingError, read
from jointsparse.pipeline.settings.datasets import Pictures, Samples
from jointsparse.pipeline.settings.studies import EXPERIMENTS, LOSSES, NORMS

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
code_hashes.recall(SEEN_CODE)

# The config.yaml that comes with the workflow, overridden by the config.yaml of this folder.
SETTINGS = list(dict.fromkeys(file.resolve() for file in (BASE / "config.yaml", Path("config.yaml")) if file.exists()))
try:
    if IS_RUN:
        cluster_resources.require_cores(workflow.resource_settings)
        for file in filter(Path.exists, (*SETTINGS, *map(Path, workflow.overwrite_configfiles))):
            load_file(file)  # refuses what Snakemake would misread
except ValueError as error:
    raise SystemExit(f"error: {error}")


for file in SETTINGS:

    configfile: str(file)


try:
    plan = Plan(read(config), Found(fresh=IS_RUN))
    if IS_RUN:
        plan.require_shown()
        plan.require_raw_files()
except SettingError as error:
    raise SystemExit(f"error: {error}")

code = partial(code_hashes.params_of, BASE / "workflow" / "scripts")
needs = cluster_resources.needs(lambda w: plan.raw(w)["paths"])


def in_report(file, category, shows, caption=""):
    """Mark an output as part of Snakemake's report.

    category: the part of the report. shows: what the output is. The report lists the output by its dataset, its study
    and this text. They form a single label, because with several labels the report tries to pair the outputs, and fails
    if an output has no partner. caption: name of the file in `report` with the caption; by default, that of the output.
    """
    result = ", ".join(wildcard for wildcard in ("{dataset}", "{datasets}", "{study}") if wildcard in file)
    caption = f"../report/{caption or Path(file).stem}.rst"
    return report(file, caption=caption, category=category, labels={"result": f"{result}: {shows}"})


localrules:  # not worth a cluster job: they compute nothing
    write_configs,
    write_index,


wildcard_constraints:
    datasets=rf"({any_of(plan.datasets)})(\+({any_of(plan.datasets)}))*",
    dataset=any_of(plan.datasets),
    study=any_of(plan.config.studies),
    run=r"\d+",
    shard=r"\d+",
    shards=r"\d+",
    folder="tables|timings",
    loss=any_of(LOSSES),
    norm=any_of(NORMS),
