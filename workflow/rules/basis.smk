rule fit_basis:
    """The images in a basis in which features are uncorrelated."""
    input:
        images=images,
        features=given,
    output:
        basis="results/{dataset}/{study}/basis/basis.npz",
        features="results/{dataset}/{study}/basis/features.npz",
    log:
        "results/{dataset}/{study}/logs/fit_basis.log",
    benchmark:
        "results/{dataset}/{study}/timings/fit_basis.tsv"
    params:
        *code("fit_basis"),
        where=lambda w: f"studies.{w.study}.basis",
        options=lambda w: study(w)["basis"],
        seed=config["seed"],
    script:
        "../scripts/fit_basis.py"


rule fit_similarities:
    """Similarities of the images to unlabelled ones."""
    input:
        images=images,
        features=given,
    output:
        prototypes="results/{dataset}/{study}/similarities/prototypes.npz",
        features="results/{dataset}/{study}/similarities/features.npz",
    log:
        "results/{dataset}/{study}/logs/fit_similarities.log",
    benchmark:
        "results/{dataset}/{study}/timings/fit_similarities.tsv"
    params:
        *code("fit_similarities"),
        where=lambda w: f"studies.{w.study}.similarities",
        options=lambda w: study(w)["similarities"],
        seed=config["seed"],
    script:
        "../scripts/fit_similarities.py"
