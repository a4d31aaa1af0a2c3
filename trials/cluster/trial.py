"""Run the miniature of the tests on a local SLURM. The results must be the same, whatever is killed.

    python trials/cluster/trial.py FOLDER PART...

Parts are `1`, `4` and `20`, the number of jobs at once, and `faults`. Each part prints a row of the table in
docs/cluster.md, and takes about ten minutes on two cores. Results are compared with those of a run without a cluster,
which is made first.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from slurm import kill, query, slurm, start

BASE = Path(__file__).parents[2]
sys.path.insert(0, str(BASE / "tests" / "pipeline"))
from miniature import Project  # noqa: E402

EDITS = {"  - slurm_account=mine ": "#", "# slurm-": "slurm-"}  # edits of the profile that docs/cluster.md recommends
SHORT_OF_MEMORY = ["--set-resources", "grow_vocabularies:mem_mb=attempt * 400"]
OTHERS = {"timings", "logs", "records"}  # folders with files that differ in every run


def prepared(folder, n_jobs):
    """A copy of the miniature, with the profile edited for this cluster."""
    project = Project(folder)
    profile = folder / "profiles" / "slurm" / "config.yaml"
    text = profile.read_text()
    for old, new in (EDITS | {"jobs: 100 ": f"jobs: {n_jobs} #"}).items():
        text = text.replace(old, new)
    profile.write_text(text)
    return project


def begin(project, *options):
    """Start a run on the cluster as a process, with run.log as its terminal."""
    command = [sys.executable, "-m", "snakemake", "--workflow-profile", "profiles/slurm", *options]
    command += ["--configfile", "overlay.yaml", "--nocolor"]
    with (project.root / "run.log").open("a") as log:
        return subprocess.Popen(command, cwd=project.root, env=project.environment(), stdout=log, stderr=log)


def running(rule):
    """Wait for a running job of a rule, and return its number and node."""
    while True:
        for line in query("squeue", "--noheader", "--states=running", "--format=%A %N %k").splitlines():
            number, node, comment = line.split(maxsplit=2)
            if rule in comment:
                return number, node
        time.sleep(0.2)


def with_faults(project, folder):
    """Run while a node, a job and the run itself are killed, and with a job that is short of memory."""
    run = begin(project, *SHORT_OF_MEMORY)
    node = running("encode")[1]
    kill(folder, node)
    time.sleep(30)  # until the node is down
    start(node)
    query("scancel", running("train_path")[0])
    running("evaluate")
    run.kill()
    run.wait()
    query("scancel", "--user=root")
    assert begin(project, "--unlock").wait() == 0
    assert begin(project, *SHORT_OF_MEMORY).wait() == 0


def results(project):
    """Return every file of the results, except logs and the tables, figures and pages of measured seconds."""
    top = project.root / "results"
    studies = [table.parents[1] for table in top.rglob("timings/*.csv")]
    seconds = {top / "index.html", *top.glob("claims/*/index.html")} | {study / "figures" for study in studies}
    files = [file for file in top.rglob("*") if file.is_file() and not OTHERS & set(file.parts)]
    return {str(file.relative_to(top)): file.read_bytes() for file in files if not seconds & {file, *file.parents}}


def main(folder, parts):
    local = Project(folder / "local")
    local.run()
    expected = results(local)
    for part in parts:
        begun, own = time.monotonic(), folder / f"slurm-{part}"
        project = prepared(folder / part, int(part) if part.isdigit() else 4)
        with slurm(own):
            if part == "faults":
                with_faults(project, own)
            else:
                assert begin(project).wait() == 0
        minutes, mine = (time.monotonic() - begun) / 60, results(project)
        differ = [name for name in mine.keys() | expected.keys() if mine.get(name) != expected.get(name)]
        n_submitted = (own / "jobs.txt").read_text().count("JobId=")
        print(f"| {part} | {minutes:.0f} | {n_submitted} | {len(mine)} | {' '.join(sorted(differ)) or 'none'} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="+", choices=["1", "4", "20", "faults"])
    given = parser.parse_args()
    main(given.folder.resolve(), given.parts)
