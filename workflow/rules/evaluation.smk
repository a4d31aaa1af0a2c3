rule evaluate:
    """Choose the best pair of every sweep and test it."""
    input:
        images="results/{dataset}/images.parquet",
        features="results/{dataset}/{study}/features.npy",
        words="results/{dataset}/{study}/tables/words.csv",
        labels="results/{dataset}/{study}/labels.npy",
        tasks=lambda w: expand("results/{{dataset}}/{{study}}/tasks/run{run}.npz", run=runs(w)),
        sweeps=sweeps,
        code=code("comparison", "tables"),
    output:
        auc=report(
            "results/{dataset}/{study}/tables/auc.csv",
            caption="../report/auc_table.rst",
            category="Results",
        ),
        auc_by_word="results/{dataset}/{study}/tables/auc_by_word.csv",
        sparsity="results/{dataset}/{study}/tables/sparsity.csv",
        convergence="results/{dataset}/{study}/tables/convergence.csv",
        scores="results/{dataset}/{study}/scores.npz",
    log:
        "results/{dataset}/{study}/logs/evaluate.log",
    benchmark:
        "results/{dataset}/{study}/timings/evaluate.tsv"
    params:
        where=lambda w: f"studies.{w.study}",
        runs=lambda w: list(runs(w)),
        sizes=lambda w: study(w)["sizes"],
        methods=lambda w: list(study(w)["methods"]),
    script:
        "../scripts/evaluate.py"


rule compare_methods:
    """Sign tests of the first method against each other one."""
    input:
        images="results/{dataset}/images.parquet",
        labels="results/{dataset}/{study}/labels.npy",
        auc="results/{dataset}/{study}/tables/auc.csv",
        tasks=lambda w: expand("results/{{dataset}}/{{study}}/tasks/run{run}.npz", run=runs(w)),
        scores="results/{dataset}/{study}/scores.npz",
        code=code("comparison", "tables"),
    output:
        significance=report(
            "results/{dataset}/{study}/tables/significance.csv",
            caption="../report/significance.rst",
            category="Results",
        ),
    log:
        "results/{dataset}/{study}/logs/compare_methods.log",
    benchmark:
        "results/{dataset}/{study}/timings/compare_methods.tsv"
    params:
        where=lambda w: f"studies.{w.study}.sign_tests",
        runs=lambda w: list(runs(w)),
        methods=lambda w: list(study(w)["methods"]),
        n_pairings=lambda w: study(w)["sign_tests"]["n_pairings"],
        seed=config["seed"],
    script:
        "../scripts/compare_methods.py"
