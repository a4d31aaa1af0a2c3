from snakemake.utils import min_version

min_version("9.0")


onstart:
    if workflow.local_exec:
        # The limit of jobs per second is for clusters. It wakes the scheduler every second once for each job so far.
        workflow.scheduler.job_rate_limiter = None


onsuccess:
    whole = any(job.rule.name == "reproduce-all" for job in workflow.dag.jobs)
    terminal.succeed(calm, [*terminal.last_words(CHOSEN, Path("results")), verified()] if whole else [])


onerror:
    terminal.fail(calm, log)


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/images.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/basis.smk"
include: "workflow/rules/tasks.smk"
include: "workflow/rules/learning.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/experiments.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/trust.smk"
include: "workflow/rules/explorer.smk"


rule:
    name:
        "reproduce-all"
    default_target: True
    input:
        everything(),
