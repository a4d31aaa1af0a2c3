from snakemake.utils import min_version

min_version("9.0")


onstart:
    internals.lift_limit_of_jobs_per_second(workflow)
    if internals.computes(workflow):
        use_best_kernel()
        lock.sign()  # not where jobs may live on elsewhere
    configuration.code.keep(SEEN_CODE)


onsuccess:
    whole = internals.is_asked_for(workflow, "reproduce-all")
    calm.succeed([terminal.verified(RESULTS), *terminal.last_words(run.chosen, RESULTS)] if whole else [])


onerror:
    calm.fail(log, remote=not internals.computes(workflow))


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
