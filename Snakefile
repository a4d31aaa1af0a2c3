from snakemake.utils import min_version

min_version("9.0")


onstart:
    if workflow.local_exec:
        # This limit is meant for clusters. It wakes the scheduler every second, once for each job so far, and no option
        # turns it off.
        workflow.scheduler.job_rate_limiter = None
        use_best_kernel()
        lock.sign()  # not on a cluster, where jobs may outlive this process
    configuration.code.keep(SEEN_CODE)


onsuccess:
    whole = "reproduce-all" in progress.rules
    progress.succeed([verified(RESULTS), *last_words(run.chosen, RESULTS)] if whole else [])


onerror:
    progress.fail(log, remote=not workflow.local_exec)


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/images.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/basis.smk"
include: "workflow/rules/tasks.smk"
include: "workflow/rules/learning.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/models.smk"
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
        lambda w: targets.everything(),
