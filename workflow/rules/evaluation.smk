rule evaluate:
    """Choose the best pair (eta0, radius) of every sweep, test it, and gather the warnings of the study.

    One job writes all these files, because most of them need the scores of every fit.
    """
    input:
        images=plan.images,
        features=plan.features,
        words="results/{dataset}/{study}/tables/words.csv",
        labels="results/{dataset}/{study}/labels.npy",
        tasks=plan.tasks,
        sweeps=plan.sweeps,
        odd_features="results/{dataset}/{study}/tables/odd_features.csv",
        left_out=plan.left_out,
        drawn=plan.tables_of_tasks,
    output:
        chosen=in_report("results/{dataset}/{study}/tables/chosen.csv", "Tables", "chosen fits"),
        words_learnt=in_report("results/{dataset}/{study}/tables/words_learnt.csv", "Tables", "words learnt"),
        means="results/{dataset}/{study}/tables/means.csv",
        by_word="results/{dataset}/{study}/tables/by_word.csv",
        sparsity="results/{dataset}/{study}/tables/sparsity.csv",
        convergence="results/{dataset}/{study}/tables/convergence.csv",
        weights="results/{dataset}/{study}/tables/weights.csv",
        scores="results/{dataset}/{study}/scores.npz",
        warnings=in_report("results/{dataset}/{study}/tables/warnings.csv", "Warnings", "warnings"),
    log:
        "results/{dataset}/{study}/logs/evaluate.log",
    benchmark:
        "results/{dataset}/{study}/timings/evaluate.tsv"
    wildcard_constraints:
        study=any_of(plan.names_of("words")),
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("evaluate"),
        where="studies.{study}",
        vocabulary=plan.vocabulary,
        runs=plan.runs,
        methods=lambda w: list(plan.words(w).methods),
        metric=lambda w: plan.words(w).metric,
        selection=lambda w: plan.words(w).selection,
        at_size=plan.at_size,
    script:
        "../scripts/evaluate.py"


rule compare_methods:
    """Compare the first method with each of the others, by sign tests and by resampling the test images."""
    input:
        images=plan.images,
        scores="results/{dataset}/{study}/scores.npz",
    output:
        significance=in_report("results/{dataset}/{study}/tables/significance.csv", "Tables", "sign tests"),
        differences=in_report("results/{dataset}/{study}/tables/differences.csv", "Tables", "leads with intervals"),
    log:
        "results/{dataset}/{study}/logs/compare_methods.log",
    benchmark:
        "results/{dataset}/{study}/timings/compare_methods.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("compare_methods"),
        where="studies.{study}.tests",
        tests=lambda w: plan.words(w).tests.values(),
        seed=plan.config.seed,
    script:
        "../scripts/compare_methods.py"
