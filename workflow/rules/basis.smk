rule fit_basis:
    """Fit a basis in which the features are uncorrelated, and transform the images into it.

    One job does both, because both need the same expensive decomposition.
    """
    input:
        images=plan.images,
        features=plan.given_features,
    output:
        basis="results/{dataset}/{study}/basis/basis.npz",
        features="results/{dataset}/{study}/basis/features.npy",
    log:
        "results/{dataset}/{study}/logs/fit_basis.log",
    benchmark:
        "results/{dataset}/{study}/timings/fit_basis.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("fit_basis"),
        where="studies.{study}.basis",
        vocabulary=plan.vocabulary,
        fitted_on=lambda w: plan.words(w).basis.fitted_on,
        options=lambda w: plan.words(w).basis.given(without=["power", "fitted_on"]),
        seed=plan.config.seed,
    script:
        "../scripts/fit_basis.py"


rule fit_similarities:
    """Compute the similarities of the images to unlabelled images, and record which unlabelled images were drawn."""
    input:
        images=plan.images,
        features=plan.given_features,
    output:
        prototypes="results/{dataset}/{study}/similarities/prototypes.npz",
        features="results/{dataset}/{study}/similarities/features.npz",
    log:
        "results/{dataset}/{study}/logs/fit_similarities.log",
    benchmark:
        "results/{dataset}/{study}/timings/fit_similarities.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("fit_similarities"),
        where="studies.{study}.similarities",
        vocabulary=plan.vocabulary,
        options=lambda w: plan.words(w).similarities.given(),
        seed=plan.config.seed,
    script:
        "../scripts/fit_similarities.py"
