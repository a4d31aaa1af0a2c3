DESCRIBING = BASE / "workflow" / "scripts" / "describing.py"
DESCRIBED_BY = {"datasets": plan.loader, "features": plan.extractor}
DESCRIBED = {
    "loader": plan.loader,
    "options": plan.options_of_pictures,
    "longest_side": lambda w: plan.pictures(w).features.longest_side,
    "extractor": plan.extractor,
    "extractor_options": lambda w: plan.pictures(w).features.options.given(),
}


rule describe:
    """Save the local descriptors of one shard of the images for use outside this workflow. No other job reads them.

    The descriptors of all images are stacked; the counts say how many rows belong to each image.
    """
    input:
        images="results/{dataset}/images.parquet",
    output:
        descriptors="results/{dataset}/descriptors/{shard}-of-{shards}.npy",
        counts="results/{dataset}/descriptors/{shard}-of-{shards}.counts.npy",
    log:
        "results/{dataset}/logs/describe/{shard}-of-{shards}.log",
    benchmark:
        "results/{dataset}/timings/describe/{shard}-of-{shards}.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("describe", DESCRIBING, **DESCRIBED_BY),
        **DESCRIBED,
        where=lambda w: f"features.options, datasets.{plan.named(w)}.shards",
    script:
        "../scripts/describe.py"


rule grow_vocabularies:
    """Grow the vocabulary trees of a dataset from descriptors of some of its images.

    The trees of an earlier job are reused if the images and the settings for describing them are the same.
    """
    input:
        images="results/{dataset}/images.parquet",
    output:
        vocabularies=update("results/{dataset}/vocabularies.npz"),
    log:
        "results/{dataset}/logs/grow_vocabularies.log",
    benchmark:
        "results/{dataset}/timings/grow_vocabularies.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("grow_vocabularies", DESCRIBING, **DESCRIBED_BY),
        **DESCRIBED,
        where=lambda w: f"features.options, datasets.{plan.named(w)}.shards, features.sample, features.vocabularies",
        sample=lambda w: plan.visual_words(w).sample.values(),
        keep=lambda w: "vocabularies" in plan.visual_words(w).keep,
        vocabularies=lambda w: plan.vocabularies(w, "branching", "depth", "weighting"),
        seed=plan.config.seed,
    script:
        "../scripts/grow_vocabularies.py"


rule encode:
    """Describe the images of a shard, and compute their features: weighted counts of the visual words.

    The features that an earlier job computed are reused for images that have not changed.
    """
    input:
        images="results/{dataset}/images.parquet",
        vocabularies="results/{dataset}/vocabularies.npz",
    output:
        histograms=update("results/{dataset}/histograms/{shard}-of-{shards}.npz"),
    log:
        "results/{dataset}/logs/encode/{shard}-of-{shards}.log",
    benchmark:
        "results/{dataset}/timings/encode/{shard}-of-{shards}.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("encode", DESCRIBING, **DESCRIBED_BY),
        **DESCRIBED,
        where=lambda w: f"features.options, datasets.{plan.named(w)}.shards, features.vocabularies",
        vocabularies=lambda w: plan.vocabularies(w, "weighting", "normalise"),
    script:
        "../scripts/encode.py"


rule embed:
    """Use a pretrained network to compute the features of the images in a shard.

    The features that an earlier job computed are reused for images that have not changed.
    """
    input:
        images="results/{dataset}/images.parquet",
    output:
        features=update("results/{dataset}/embeddings/{shard}-of-{shards}.npz"),
    log:
        "results/{dataset}/logs/embed/{shard}-of-{shards}.log",
    benchmark:
        "results/{dataset}/timings/embed/{shard}-of-{shards}.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("embed", DESCRIBING, datasets=plan.loader),
        loader=plan.loader,
        options=plan.options_of_pictures,
        extractor_options=lambda w: plan.pictures(w).features.options.given(),
        where=lambda w: f"features.options, datasets.{plan.named(w)}.shards",
        network=plan.network,
        vocabulary=NETWORK,
    script:
        "../scripts/embed.py"
