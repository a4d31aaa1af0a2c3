rule fit_basis:
    """The images in a basis in which features are uncorrelated."""
    input:
        images="results/{dataset}/images.parquet",
        histograms="results/{dataset}/histograms.npz",
        code=code("basis", "tables"),
    output:
        basis="results/{dataset}/{study}/basis.npz",
        features="results/{dataset}/{study}/features.npy",
    log:
        "results/{dataset}/{study}/logs/fit_basis.log",
    benchmark:
        "results/{dataset}/{study}/timings/fit_basis.tsv"
    params:
        where=lambda w: f"studies.{w.study}.basis",
        options=lambda w: study(w)["basis"],
        seed=config["seed"],
    script:
        "../scripts/fit_basis.py"
