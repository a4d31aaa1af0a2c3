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
        dataset=any_of(plan.of(Pictures)),
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("read_images", datasets=plan.loader, features=plan.extractor),
        where=lambda w: f"datasets.{plan.named(w)}.options",
        loader=plan.loader,
        options=plan.options,
        raw=plan.raw,
        drawn=plan.drawn,
        longest_side=lambda w: plan.pictures(w).features.longest_side,
        extractor=plan.extractor,
        extractor_options=lambda w: plan.pictures(w).features.options.given(),
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
        dataset=any_of(plan.of(Samples)),
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("read_samples", datasets=plan.loader),
        where=lambda w: f"datasets.{plan.named(w)}.options",
        loader=plan.loader,
        options=plan.options,
        raw=plan.raw,
        drawn=plan.drawn,
    script:
        "../scripts/read_samples.py"


rule correct_labels:
    """Apply the decisions of a person to the labels of a dataset.

    This is a rule of its own, so that changed decisions read no picture again and change no feature.
    """
    input:
        images="results/{dataset}/images.parquet",
        captions="results/{dataset}/captions.parquet",
        left_out="results/{dataset}/left_out.csv",
    output:
        captions="results/{dataset}/corrected/captions.parquet",
        left_out=in_report("results/{dataset}/corrected/left_out.csv", "Data", "what is left out, with corrections"),
        decisions="results/{dataset}/corrected/decisions.parquet",
    log:
        "results/{dataset}/logs/correct_labels.log",
    benchmark:
        "results/{dataset}/timings/correct_labels.tsv"
    priority: 10
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("correct_labels"),
        where=lambda w: f"datasets.{plan.named(w)}.corrections",
        raw=plan.raw_corrections,
        is_whole=lambda w: plan.drawn(w) == [None, None],
    script:
        "../scripts/correct_labels.py"


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
        numbers=lambda w: plan.words(w).set_aside,
        seed=plan.config.seed,
    script:
        "../scripts/set_aside.py"
