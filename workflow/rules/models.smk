rule fit_final:
    """Fit one model on all training and validation images of a study, and evaluate it on the test images."""
    input:
        unpack(plan.inputs_of_final),
    output:
        model="results/{dataset}/final/{norm}.npz",
        table=in_report("results/{dataset}/final/{norm}.csv", "Tables", "final fit, {norm}", caption="final"),
    log:
        "results/{dataset}/logs/fit_final/{norm}.log",
    benchmark:
        "results/{dataset}/timings/fit_final/{norm}.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("fit_final", solvers="working_set", losses="logistic", norms=lambda w: w.norm),
        where=lambda w: f"datasets.{plan.named(w)}.final",
        powers=lambda w: plan.words(plan.final_study(w)).powers,
        vocabulary=plan.final_vocabulary,
        n_resamples=lambda w: plan.words(plan.final_study(w)).tests.n_resamples,
        seed=plan.config.seed,
    script:
        "../scripts/fit_final.py"


rule keep_model:
    """Save a final fit in a single file, with all steps from a picture to the probability of each word.

    One job writes four files, because all of them need the fits: `norms` compares the fits, `thresholds` counts the test
    images to which each word would be assigned at several precisions, and `tags` lists the labels that may be wrong or
    missing. Only the saved fit is calibrated. The code of the solver is not in `params`, because the fits are made again
    if it changes.
    """
    input:
        unpack(plan.inputs_of_model),
    output:
        model="results/{dataset}/model.jointsparse",
        norms=in_report("results/{dataset}/norms.csv", "Tables", "final fits, by norm", caption="norms"),
        thresholds="results/{dataset}/thresholds.csv",
        tags=in_report("results/{dataset}/tags_to_check.csv", "Tables", "tags to check", caption="tags_to_check"),
    log:
        "results/{dataset}/logs/keep_model.log",
    benchmark:
        "results/{dataset}/timings/keep_model.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("keep_model", "pipeline/models/annotator.py", datasets=plan.loader),
        where=lambda w: f"datasets.{plan.named(w)}.final",
        loader=plan.loader,
        options=plan.options,
        study=lambda w: plan.final_study(w).study,
        kept=plan.kept,
        features=plan.features_of_pictures,
        network=plan.network,
        vocabulary=plan.final_vocabulary,
        forms=plan.forms_of_words,
        raw=plan.raw,
        seed=plan.config.seed,
    script:
        "../scripts/keep_model.py"


rule count_selections:
    """Count how often each feature is selected on random halves of the images from which the saved model has learnt.

    The code of the norm, of the loss and of the solver is not in `params`, because the model is made again if it
    changes.
    """
    input:
        unpack(plan.inputs_of_final),
        model="results/{dataset}/model.jointsparse",
    output:
        table=in_report("results/{dataset}/stability.csv", "Tables", "how often each feature is selected"),
    log:
        "results/{dataset}/logs/count_selections.log",
    benchmark:
        "results/{dataset}/timings/count_selections.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("count_selections"),
        where=lambda w: f"datasets.{plan.named(w)}.final.stability",
        vocabulary=plan.final_vocabulary,
        n_pairs=lambda w: plan.final(w).stability,
        seed=plan.config.seed,
    script:
        "../scripts/count_selections.py"
