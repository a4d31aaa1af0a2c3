# Repeat an experiment with new draws, and gather the warnings of its runs. Every experiment has its own rule, because
# the names of the tables differ. One job does all runs of a study, because starting a job can take longer than a run.
for kind in REPEATED:

    rule:
        name:
            f"repeat_{kind}"
        input:
            unpack(plan.samples),
            left_out=plan.left_out,
        output:
            **{
                table: in_report(
                    f"results/{{dataset}}/{{study}}/{folder}/{table}.csv", "Tables", table, caption="runs"
                )
                for table, folder in EXPERIMENTS[kind].TABLES.items()
            },
            warnings=in_report("results/{dataset}/{study}/tables/warnings.csv", "Warnings", "warnings"),
        log:
            "results/{dataset}/{study}/logs/repeat.log",
        benchmark:
            "results/{dataset}/{study}/timings/repeat.tsv"
        wildcard_constraints:
            study=any_of(plan.names_of(kind)),
        conda:
            "../envs/jointsparse.yaml"
        resources:
            **needs,
        params:
            *code("repeat", experiments=kind),
            where="studies.{study}",
            kind=kind,
            options=plan.experiment_options,
            runs=plan.runs,
            seed=plan.config.seed,
        script:
            "../scripts/repeat.py"


rule measure:
    """Run an experiment that measures CPU time, once and on one core."""
    input:
        unpack(plan.samples),
    output:
        table="results/{dataset}/{study}/timings/{kind}.csv",
    log:
        "results/{dataset}/{study}/logs/measure_{kind}.log",
    benchmark:
        "results/{dataset}/{study}/timings/measure_{kind}.tsv"
    wildcard_constraints:
        study=any_of(plan.names_of(*MEASURED)),
        kind=any_of(MEASURED),
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("measure", experiments=plan.kind),
        where="studies.{study}",
        kind=plan.kind,
        options=plan.experiment_options,
        seed=plan.config.seed,
    script:
        "../scripts/measure.py"
