rule repeat:
    """Repeat an experiment once, with fresh draws."""
    input:
        unpack(samples),
    output:
        table="results/{dataset}/{study}/timings/runs/run{run}.csv",
    log:
        "results/{dataset}/{study}/logs/repeat/run{run}.log",
    benchmark:
        "results/{dataset}/{study}/timings/repeat/run{run}.tsv"
    wildcard_constraints:
        study=of_kind(*REPEATED),
    resources:
        **needs,
    params:
        *code("repeat", experiments=lambda w: study(w)["kind"]),
        where=lambda w: f"studies.{w.study}",
        kind=lambda w: study(w)["kind"],
        options=options_of_study,
        seed=lambda w: [config["seed"], int(w.run)],
        columns=lambda w: {"run": int(w.run)},
    script:
        "../scripts/repeat.py"


rule gather_runs:
    """Join all repetitions in one table. Measured seconds differ each time and lie in another."""
    input:
        runs=lambda w: expand("results/{{dataset}}/{{study}}/timings/runs/run{run}.csv", run=runs(w)),
    output:
        table=report(
            "results/{dataset}/{study}/{folder}/{table}.csv",
            caption="../report/runs.rst",
            category="Tables",
            labels={"dataset": "{dataset}", "study": "{study}", "shows": "{table}"},
        ),
    log:
        "results/{dataset}/{study}/logs/gather_runs_{folder}_{table}.log",
    benchmark:
        "results/{dataset}/{study}/timings/gather_runs_{folder}_{table}.tsv"
    wildcard_constraints:
        study=of_kind(*REPEATED),
        table=any_of([table for kind in REPEATED for table in TABLES[kind]]),
    resources:
        **needs,
    params:
        *code("gather_runs"),
        where=lambda w: f"studies.{w.study}",
    script:
        "../scripts/gather_runs.py"


rule measure:
    """Run an experiment once whose numbers are CPU seconds, on one core."""
    input:
        unpack(samples),
    output:
        table="results/{dataset}/{study}/timings/{kind}.csv",
    log:
        "results/{dataset}/{study}/logs/measure_{kind}.log",
    benchmark:
        "results/{dataset}/{study}/timings/measure_{kind}.tsv"
    wildcard_constraints:
        study=of_kind(*MEASURED),
        kind=any_of(MEASURED),
    resources:
        **needs,
    params:
        *code("repeat", experiments=lambda w: study(w)["kind"]),
        where=lambda w: f"studies.{w.study}",
        kind=lambda w: study(w)["kind"],
        options=options_of_study,
        seed=config["seed"],
        columns={},
    script:
        "../scripts/repeat.py"
