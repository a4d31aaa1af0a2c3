rule measure_projections:
    """Seconds of projections and of sparse updates, measured with nothing else running."""
    input:
        code=code("projection_cost", "tables"),
    output:
        table="results/{dataset}/{study}/timings/projection.csv",
    log:
        "results/{dataset}/{study}/logs/measure_projections.log",
    benchmark:
        "results/{dataset}/{study}/timings/measure_projections.tsv"
    wildcard_constraints:
        study=of_kind("projection"),
    threads: workflow.cores
    params:
        where=lambda w: f"studies.{w.study}",
        options=lambda w: options(w, "sizes", "touched", "non_zeros", "repeats"),
        seed=config["seed"],
    script:
        "../scripts/measure_projections.py"


rule descend:
    """One problem drawn at random, solved by each method: how far each is at each step, and what that took."""
    input:
        code=code("suboptimality", "losses/logistic", "losses/squared", "tables"),
    output:
        table="results/{dataset}/{study}/timings/runs/{problem}_n{n}_run{run}.csv",
    log:
        "results/{dataset}/{study}/logs/descend/{problem}_n{n}_run{run}.log",
    benchmark:
        "results/{dataset}/{study}/timings/descend/{problem}_n{n}_run{run}.tsv"
    wildcard_constraints:
        study=of_kind("descent"),
        problem=r"\w+?",
    params:
        where=lambda w: f"studies.{w.study}",
        options=lambda w: options(w, "penalty", "eta0", "n_iter", "stochastic_n_iter"),
        seed=config["seed"],
    script:
        "../scripts/descend.py"


rule exponentiate:
    """Exponentiated gradient against projections, on the most frequent label of sparse samples."""
    input:
        images="results/{dataset}/images.parquet",
        captions="results/{dataset}/captions.parquet",
        features="results/{dataset}/features.npz",
        code=code("exponentiated", "losses/logistic", "checks", "tasks", "tables"),
    output:
        table="results/{dataset}/{study}/timings/runs/run{run}.csv",
    log:
        "results/{dataset}/{study}/logs/exponentiate/run{run}.log",
    benchmark:
        "results/{dataset}/{study}/timings/exponentiate/run{run}.tsv"
    wildcard_constraints:
        study=of_kind("exponentiated"),
    params:
        where=lambda w: f"studies.{w.study}",
        label=lambda w: study(w).get("label"),
        options=lambda w: options(w, "radius", "n_iter", *STEPS),
        seed=config["seed"],
    script:
        "../scripts/exponentiate.py"


rule learn_kernels:
    """Exponentiated gradient against projections, on classes told apart by similarities to a support set."""
    input:
        images="results/{dataset}/images.parquet",
        captions="results/{dataset}/captions.parquet",
        features="results/{dataset}/features.npz",
        code=code("kernels", "checks", "tasks", "tables"),
    output:
        table="results/{dataset}/{study}/timings/runs/run{run}.csv",
    log:
        "results/{dataset}/{study}/logs/learn_kernels/run{run}.log",
    benchmark:
        "results/{dataset}/{study}/timings/learn_kernels/run{run}.tsv"
    wildcard_constraints:
        study=of_kind("kernels"),
    params:
        where=lambda w: f"studies.{w.study}",
        options=lambda w: options(w, "n_support", "n_train", "width", "radius", "n_iter", *STEPS),
        seed=config["seed"],
    script:
        "../scripts/learn_kernels.py"


rule learn_online:
    """One pass over sparse samples: projected stochastic subgradient with the tree against exponentiated gradient."""
    input:
        images="results/{dataset}/images.parquet",
        captions="results/{dataset}/captions.parquet",
        features="results/{dataset}/features.npz",
        code=code("online_text", "losses/logistic", "checks", "tasks", "tables"),
    output:
        table="results/{dataset}/{study}/timings/runs/run{run}.csv",
    log:
        "results/{dataset}/{study}/logs/learn_online/run{run}.log",
    benchmark:
        "results/{dataset}/{study}/timings/learn_online/run{run}.tsv"
    wildcard_constraints:
        study=of_kind("online"),
    params:
        where=lambda w: f"studies.{w.study}",
        label=lambda w: study(w).get("label"),
        options=lambda w: options(w, "n_examples", "radius", *STEPS),
        seed=config["seed"],
    script:
        "../scripts/learn_online.py"


rule measure_updates:
    """Seconds of a sparse update with many non-zero weights, measured with nothing else running."""
    input:
        images="results/{dataset}/images.parquet",
        captions="results/{dataset}/captions.parquet",
        features="results/{dataset}/features.npz",
        code=code("online_text", "losses/logistic", "checks", "tasks", "tables"),
    output:
        table="results/{dataset}/{study}/timings/updates.csv",
    log:
        "results/{dataset}/{study}/logs/measure_updates.log",
    benchmark:
        "results/{dataset}/{study}/timings/measure_updates.tsv"
    wildcard_constraints:
        study=of_kind("online"),
    threads: workflow.cores
    params:
        where=lambda w: f"studies.{w.study}",
        label=lambda w: study(w).get("label"),
        options=lambda w: study(w)["updates"],
        seed=config["seed"],
    script:
        "../scripts/measure_updates.py"


rule gather_runs:
    """All repetitions in one table, whose seconds stand in another, as they differ each time."""
    input:
        runs=repetitions,
        code=code("tables"),
    output:
        table=report(
            "results/{dataset}/{study}/tables/{table}.csv",
            caption="../report/runs.rst",
            category="Results",
        ),
        seconds="results/{dataset}/{study}/timings/{table}_seconds.csv",
    log:
        "results/{dataset}/{study}/logs/gather_runs_{table}.log",
    benchmark:
        "results/{dataset}/{study}/timings/gather_runs_{table}.tsv"
    wildcard_constraints:
        study=of_kind("descent", "exponentiated", "kernels", "online"),
        table="descent|exponentiated|online",
    params:
        where=lambda w: f"studies.{w.study}",
    script:
        "../scripts/gather_runs.py"
