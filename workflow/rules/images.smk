rule read_images:
    """Read and check the images and captions of a dataset."""
    input:
        raw=raw_files,
        code=lambda w: code(
            f"datasets/{dataset(w)['loader']}", f"features/{config['features']['extractor']}", "registry", "tables"
        ),
    output:
        images="results/{dataset}/images.parquet",
        captions="results/{dataset}/captions.parquet",
        left_out=report(
            "results/{dataset}/left_out.csv",
            caption="../report/left_out.rst",
            category="Images",
        ),
    log:
        "results/{dataset}/logs/read_images.log",
    benchmark:
        "results/{dataset}/timings/read_images.tsv"
    params:
        where=lambda w: f"datasets.{w.dataset}.options",
        loader=lambda w: dataset(w)["loader"],
        options=lambda w: dataset(w)["options"],
        longest_side=config["features"]["longest_side"],
        extractor=config["features"]["extractor"],
        extractor_options=config["features"]["options"],
    script:
        "../scripts/read_images.py"


rule draw_contact_sheet:
    """Some images with a caption each, to see what a dataset holds."""
    input:
        images="results/{dataset}/images.parquet",
        captions="results/{dataset}/captions.parquet",
        code=lambda w: code(f"datasets/{dataset(w)['loader']}", "plots", "registry", "tables"),
    output:
        figure="results/{dataset}/contact_sheet.png",
    log:
        "results/{dataset}/logs/draw_contact_sheet.log",
    benchmark:
        "results/{dataset}/timings/draw_contact_sheet.tsv"
    params:
        where=lambda w: f"datasets.{w.dataset}.options",
        loader=lambda w: dataset(w)["loader"],
        options=lambda w: dataset(w)["options"],
        longest_side=config["features"]["longest_side"],
        seed=config["seed"],
    script:
        "../scripts/draw_contact_sheet.py"
