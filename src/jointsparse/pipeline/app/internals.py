"""Snakemake's internals that the workflow touches, all of them. Tried with Snakemake 9.27.

`tests/pipeline/test_terminal.py` runs each of them in a small workflow, and fails when an upgrade has moved one.
"""

import logging
from pathlib import Path
from typing import Any


def is_run(workflow: Any) -> bool:
    """Tell whether this process is that of the user, and not one of those that it starts for jobs."""
    return bool(workflow.is_main_process)


def computes(workflow: Any) -> bool:
    """Tell, once a run starts, whether its jobs run on this machine, and are not submitted to others."""
    return bool(workflow.local_exec)


def lift_limit_of_jobs_per_second(workflow: Any) -> None:
    """Let a run on this machine begin as many jobs a second as it can.

    The limit is for clusters. It wakes the scheduler every second once for each job so far. The option
    `max-jobs-per-timespan` has no value that is no limit.
    """
    if computes(workflow):
        workflow.scheduler.job_rate_limiter = None


def handler_of_terminal(workflow: Any) -> logging.StreamHandler[Any] | None:
    """The handler of Snakemake's messages to people, if they are those of a run of which not all shall be told.

    A logger plug-in would be the public way. It has to be named in every command or profile, and installed where
    Snakemake is; and it would have to write what Snakemake's own handler writes.
    """
    settings, handlers = workflow.output_settings, logging.getLogger("snakemake.logging").handlers
    told = settings.verbose or settings.printshellcmds or settings.debug_dag
    found = [one for one in handlers if one.name == "DefaultStreamHandler" and isinstance(one, logging.StreamHandler)]
    return found[0] if found and is_run(workflow) and not told else None


def jobs_to_run(workflow: Any) -> dict[int, tuple[str, str]]:
    """The jobs of a run, by number: the rule of each, and the file of its benchmark or nothing."""
    return {job.jobid: (job.rule.name, str(job.benchmark or "")) for job in workflow.dag.needrun_jobs()}


def is_asked_for(workflow: Any, rule: str) -> bool:
    """Tell whether a rule is part of the run."""
    return any(job.rule.name == rule for job in workflow.dag.jobs)


def lines_of_code(params: Any) -> list[str]:
    """The params of a job without a name, which stand before those with one: see `configuration.code.params_of`."""
    return list(params)[: -len(dict(params.items()))]


def too_few(workflow: Any) -> str:
    """Say which number of processes side by side is less than one, with which Snakemake would wait for ever, or ""."""
    settings = workflow.resource_settings
    asked = {"cores": settings.cores, "jobs": settings.nodes, "local-cores": settings.local_cores}
    few = [
        f"--{option} must be at least 1, got {number}"
        for option, number in asked.items()
        if number is not None and number < 1
    ]
    return few[0] if few else ""


def locks() -> dict[str, int]:
    """The files by which Snakemake locks the current folder, and when each was written, in nanoseconds."""
    return {str(file): file.stat().st_mtime_ns for file in Path(".snakemake/locks").glob("*.lock")}
