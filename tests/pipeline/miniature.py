"""The whole workflow with small settings, in a folder of its own."""

import contextlib
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

BASE = Path(__file__).parents[2]
CONFIG = yaml.safe_load((BASE / "config.yaml").read_text(encoding="utf-8"))
# One job of each kind is enough for each rule: other tests run every experiment and draw every figure.
KEPT = {"collage": ["annotation", "scenes"], "documents": ["exponentiated"], "synthetic": ["recovery", "cost"]}
for dataset, studies in KEPT.items():
    block = CONFIG["datasets"][dataset]
    block["studies"] = {study: block["studies"][study] for study in studies}
for study in {*CONFIG["studies"]} - {"annotation"}:
    CONFIG["studies"][study]["figures"] = []
DATASETS = tuple(KEPT)
CONFIG["dataset"] = [*DATASETS]


def jobs(workflow_folder: str | Path, folder: str | Path, overlay: str = "") -> dict[str, list[Any]]:
    """Return the jobs of a whole run in a folder, by rule, as the workflow plans them if no target is given."""
    from snakemake.api import SnakemakeApi
    from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings

    by_rule = defaultdict(list)
    with (
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.redirect_stdout(io.StringIO()),
        SnakemakeApi(OutputSettings(dryrun=True)) as api,
    ):
        workflow = api.workflow(
            resource_settings=ResourceSettings(cores=1),
            config_settings=ConfigSettings(configfiles=[Path(overlay)] if overlay else []),
            snakefile=Path(workflow_folder) / "Snakefile",
            workdir=Path(folder),
        )
        workflow.dag(DAGSettings(forceall=True)).printrulegraph()
        for job in workflow._workflow_store.dag.jobs:
            by_rule[job.rule.name].append(job)
    return by_rule


class Named(dict):
    """Files or values of a job by name, as Snakemake passes them."""

    __getattr__ = dict.__getitem__

    def __iter__(self):
        return iter(self.values())


def run_script_with(patch, name, **given):
    """Run a script like its job, without records. patch: a MonkeyPatch. given: input, output, params, wildcards."""
    patch.setattr("job.job", lambda snakemake: contextlib.nullcontext(print))
    parts = {part: {} for part in ("input", "output", "params", "wildcards")} | given
    snakemake = SimpleNamespace(**{part: Named(**values) for part, values in parts.items()})
    runpy.run_path(str(BASE / "workflow" / "scripts" / f"{name}.py"), {"snakemake": snakemake}, "__main__")


class Project:
    """A copy of the workflow in a folder of its own, which is created if necessary."""

    def __init__(self, root: Path):
        self.root = root
        self.variables: dict[str, str] = {}  # environment variables of the runs
        if root.exists():
            return
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        for name in ("workflow", "src", "profiles"):
            shutil.copytree(BASE / name, root / name, ignore=ignored)
        shutil.copy(BASE / "Snakefile", root)
        (root / "config.yaml").write_text(yaml.safe_dump(CONFIG, sort_keys=False), encoding="utf-8")
        shutil.copy(BASE / "tests" / "pipeline" / "config.yaml", root / "overlay.yaml")

    def command(self, *arguments: str, cores: int = 2, overlays: Iterable[str] = ()) -> list[str]:
        command = [sys.executable, "-m", "snakemake", "--cores", str(cores)]
        return [*command, "--configfile", "overlay.yaml", *overlays, "--nocolor", *arguments]

    def environment(self) -> dict[str, str]:
        return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | self.variables

    def snakemake(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        command = self.command(*arguments, **options)
        return subprocess.run(
            command, cwd=self.root, env=self.environment(), capture_output=True, text=True, check=False
        )

    def run(self, *arguments: str, targets: Iterable[str] = ("reproduce-all",), **options) -> str:
        done = self.snakemake(*targets, *arguments, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def planned(self, *arguments: str, **options) -> dict[str, int]:
        """Return the number of jobs of each rule that a run would execute."""
        output = self.run("--dry-run", "--printshellcmds", *arguments, **options)
        counts = re.findall(r"^(\w+) +(\d+)$", output, re.MULTILINE)
        return {rule: int(count) for rule, count in counts if rule != "total"}

    @contextlib.contextmanager
    def edited(self, file: str, old: str, new: str) -> Iterator[None]:
        """Replace a text in a file until the block ends."""
        path = self.root / file
        before = path.read_text()
        assert old in before, (file, old)
        path.write_text(before.replace(old, new))
        try:
            yield
        finally:
            path.write_text(before)

    def manifest(self) -> Path:
        return self.root / "results" / "claims" / "+".join(DATASETS) / "manifest.json"

    def tables(self) -> dict[str, bytes]:
        """Return every table of results, without measured seconds."""
        results = self.root / "results"
        files = [path for path in sorted(results.rglob("*.csv")) if "timings" not in path.parts]
        return {str(path.relative_to(results)): path.read_bytes() for path in files}
