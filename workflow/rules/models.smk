rule fit_final:
    """Fit one model on all training and validation images of a study, and test it once."""
    input:
        unpack(files_of_final),
    output:
        model="results/{dataset}/final/{norm}.skops",
        scores="results/{dataset}/final/{norm}.npz",
        table=report(
            "results/{dataset}/final/{norm}.csv",
            caption="../report/final.rst",
            category="Tables",
            labels={"dataset": "{dataset}", "study": "final", "shows": "final fit, {norm}"},
        ),
    log:
        "results/{dataset}/logs/fit_final/{norm}.log",
    benchmark:
        "results/{dataset}/timings/fit_final/{norm}.tsv"
    resources:
        **needs,
    params:
        *code("fit_final", solvers="working_set", losses="logistic", norms=lambda w: w.norm),
        where=lambda w: f"datasets.{named(w.dataset)}.final",
        powers=lambda w: powers_of_study(final_study(w)),
        vocabulary=lambda w: vocabulary(final_study(w)),
        n_resamples=lambda w: study(final_study(w))["tests"]["n_resamples"],
        seed=config["seed"],
    script:
        "../scripts/fit_final.py"


rule keep_model:
    """Keep a final fit with all that leads to it, from a picture to the probability of each word, in one file."""
    input:
        unpack(files_of_model),
    output:
        model="results/{dataset}/model.skops",
    log:
        "results/{dataset}/logs/keep_model.log",
    benchmark:
        "results/{dataset}/timings/keep_model.tsv"
    resources:
        **needs,
    params:
        *code("keep_model", "pipeline/models/annotator.py", datasets=lambda w: dataset(w)["loader"]),
        where=lambda w: f"datasets.{named(w.dataset)}.final",
        loader=lambda w: dataset(w)["loader"],
        options=lambda w: dataset(w)["options"],
        study=lambda w: final_study(w).study,
        features=lambda w: features(w) if w.dataset in PICTURES else None,
        vocabulary=lambda w: vocabulary(final_study(w)),
        raw=raw,
        seed=config["seed"],
    script:
        "../scripts/keep_model.py"
