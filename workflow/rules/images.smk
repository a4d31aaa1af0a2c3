rule read_images:
    """Read and check the images and captions of a dataset.

    One pass over the raw files gives the images, their captions, and the list of everything that is left out.
    """
    output:
        images="results/{dataset}/images.parquet",
        captions="results/{dataset}/captions.parquet",
        left_out=in_report("results/{dataset}/left_out.csv", "Data", "what is left out"),
    log:
        "results/{dataset}/logs/read_images.log",
    benchmark:
        "results/{dataset}/timings/read_images.tsv"
    wildcard_constraints:
        dataset=any_of(run.offering("pictures")),
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("read_images", datasets=run.loader, features=run.extractor),
        where=lambda w: f"datasets.{run.named(w)}.options",
        loader=run.loader,
        options=run.options,
        raw=run.raw,
        drawn=run.drawn,
        longest_side=lambda w: run.features(w)["longest_side"],
        extractor=run.extractor,
        extractor_options=lambda w: run.features(w)["options"],
    script:
        "../scripts/read_images.py"


rule read_samples:
    """Read and check a dataset that comes as features with labels.

    The samples and labels are stored like images and captions. A single pass over the raw files gives all four files.
    """
    output:
        images="results/{dataset}/images.parquet",
        captions="results/{dataset}/captions.parquet",
        left_out=in_report("results/{dataset}/left_out.csv", "Data", "what is left out"),
        features="results/{dataset}/features.npz",
    log:
        "results/{dataset}/logs/read_samples.log",
    benchmark:
        "results/{dataset}/timings/read_samples.tsv"
    wildcard_constraints:
        dataset=any_of(run.offering("samples")),
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("read_samples", datasets=run.loader),
        where=lambda w: f"datasets.{run.named(w)}.options",
        loader=run.loader,
        options=run.options,
        raw=run.raw,
        drawn=run.drawn,
    script:
        "../scripts/read_samples.py"


rule set_aside:
    """Set images aside, so that a study treats them as unlabelled."""
    input:
        images="results/{dataset}/images.parquet",
    output:
        images="results/{dataset}/{study}/images.parquet",
    log:
        "results/{dataset}/{study}/logs/set_aside.log",
    benchmark:
        "results/{dataset}/{study}/timings/set_aside.tsv"
    priority: 10
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("set_aside"),
        where="studies.{study}.set_aside",
        numbers=lambda w: run.study(w)["set_aside"],
        seed=config["seed"],
    script:
        "../scripts/set_aside.py"
