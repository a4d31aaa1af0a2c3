rule recover:
    """One repetition of the synthetic experiment: tasks drawn with known weights, and learnt."""
    input:
        code=code(
            "recovery",
            "datasets/synthetic",
            "losses/hinge",
            "norms/l1",
            "norms/l1inf",
            "norms/l2",
            "solvers/pdhg",
            "solvers/subgradient",
            "tables",
        ),
    output:
        table="results/{dataset}/{study}/runs/run{run}.csv",
    log:
        "results/{dataset}/{study}/logs/recover/run{run}.log",
    benchmark:
        "results/{dataset}/{study}/timings/recover/run{run}.tsv"
    wildcard_constraints:
        study=of_kind("recovery"),
    params:
        where=lambda w: f"studies.{w.study}",
        tasks=lambda w: study(w)["tasks"],
        options=lambda w: {key: study(w)[key] for key in ("sizes", "eta0", "radius", "n_iter", "tol")},
        seed=config["seed"],
    script:
        "../scripts/recover.py"


rule gather_recoveries:
    """All repetitions of the synthetic experiment in one table."""
    input:
        runs=lambda w: expand("results/{{dataset}}/{{study}}/runs/run{run}.csv", run=runs(w)),
        code=code("tables"),
    output:
        table=report(
            "results/{dataset}/{study}/tables/recovery.csv",
            caption="../report/recovery.rst",
            category="Results",
        ),
    log:
        "results/{dataset}/{study}/logs/gather_recoveries.log",
    benchmark:
        "results/{dataset}/{study}/timings/gather_recoveries.tsv"
    params:
        where=lambda w: f"studies.{w.study}",
    script:
        "../scripts/gather_recoveries.py"


rule measure_cost:
    """Seconds of projections and of training, measured with nothing else running."""
    input:
        code=code("cost", "losses/hinge", "norms/l1inf", "solvers/subgradient", "tables"),
    output:
        table="results/{dataset}/{study}/timings/cost.csv",
    log:
        "results/{dataset}/{study}/logs/measure_cost.log",
    benchmark:
        "results/{dataset}/{study}/timings/measure_cost.tsv"
    threads: workflow.cores
    params:
        where=lambda w: f"studies.{w.study}",
        options=lambda w: {
            key: study(w)[key] for key in ("projection_sizes", "projection_rows", "training_sizes", "repeats")
        },
        seed=config["seed"],
    script:
        "../scripts/measure_cost.py"
