rule repeat:
    """Repeat an experiment once, with fresh draws."""
    input:
        unpack(inputs.samples),
    output:
        table="results/{dataset}/{study}/timings/runs/run{run}.csv",
    log:
        "results/{dataset}/{study}/logs/repeat/run{run}.log",
    benchmark:
        "results/{dataset}/{study}/timings/repeat/run{run}.tsv"
    wildcard_constraints:
        study=any_of(run.studies_of_kind(run.repeated)),
    resources:
        **needs,
    params:
        *code("repeat", experiments=run.kind),
        where="studies.{study}",
        kind=run.kind,
        options=run.experiment_options,
        seed=lambda w: [config["seed"], int(w.run)],
        columns=lambda w: {"run": int(w.run)},
    script:
        "../scripts/repeat.py"


rule gather_runs:
    """Join all repetitions in one table. Measured seconds differ each time and lie in another."""
    input:
        runs=inputs.repetitions,
    output:
        table=in_report("results/{dataset}/{study}/{folder}/{table}.csv", "Tables", "{table}", caption="runs"),
    log:
        "results/{dataset}/{study}/logs/gather_runs_{folder}_{table}.log",
    benchmark:
        "results/{dataset}/{study}/timings/gather_runs_{folder}_{table}.tsv"
    wildcard_constraints:
        study=any_of(run.studies_of_kind(run.repeated)),
        table=any_of(table for kind in run.repeated for table in run.tables[kind]),
    resources:
        **needs,
    params:
        *code("gather_runs"),
        where="studies.{study}",
    script:
        "../scripts/gather_runs.py"


rule measure:
    """Run an experiment once whose numbers are CPU seconds, on one core."""
    input:
        unpack(inputs.samples),
    output:
        table="results/{dataset}/{study}/timings/{kind}.csv",
    log:
        "results/{dataset}/{study}/logs/measure_{kind}.log",
    benchmark:
        "results/{dataset}/{study}/timings/measure_{kind}.tsv"
    wildcard_constraints:
        study=any_of(run.studies_of_kind(run.measured)),
        kind=any_of(run.measured),
    resources:
        **needs,
    params:
        *code("repeat", experiments=run.kind),
        where="studies.{study}",
        kind=run.kind,
        options=run.experiment_options,
        seed=config["seed"],
        columns={},
    script:
        "../scripts/repeat.py"
