DESCRIBING = BASE / "workflow" / "scripts" / "describing.py"
DESCRIBED_BY = {"datasets": run.loader, "features": run.extractor}
DESCRIBED = {
    "loader": run.loader,
    "options": run.options,
    "longest_side": lambda w: run.features(w)["longest_side"],
    "extractor": run.extractor,
    "extractor_options": lambda w: run.features(w)["options"],
}


rule describe:
    """Keep the local descriptors of one shard of the images, for whom they are of use: no other job reads them.

    Descriptors of all images lie below each other; without the counts nobody could tell them apart.
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
    resources:
        **needs,
    params:
        *code("describe", DESCRIBING, **DESCRIBED_BY),
        **DESCRIBED,
        where=lambda w: f"features.options, datasets.{run.named(w)}.shards",
    script:
        "../scripts/describe.py"


rule grow_vocabularies:
    """Grow the vocabulary trees of a dataset from descriptors of some of its images.

    If the same images would be described in the same way, an earlier job's trees are kept.
    """
    input:
        images="results/{dataset}/images.parquet",
    output:
        vocabularies=update("results/{dataset}/vocabularies.npz"),
    log:
        "results/{dataset}/logs/grow_vocabularies.log",
    benchmark:
        "results/{dataset}/timings/grow_vocabularies.tsv"
    resources:
        **needs,
    params:
        *code("grow_vocabularies", DESCRIBING, **DESCRIBED_BY),
        **DESCRIBED,
        where=lambda w: f"features.options, datasets.{run.named(w)}.shards, features.sample, features.vocabularies",
        sample=lambda w: run.features(w)["sample"],
        keep=lambda w: "vocabularies" in run.features(w)["keep"],
        vocabularies=lambda w: run.vocabularies(w, "branching", "depth", "weighting"),
        seed=config["seed"],
    script:
        "../scripts/grow_vocabularies.py"


rule encode:
    """Describe the images of a shard, and make their features: weighted counts of visual words of each vocabulary.

    An earlier job's features of images that are as they were are kept.
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
    resources:
        **needs,
    params:
        *code("encode", DESCRIBING, **DESCRIBED_BY),
        **DESCRIBED,
        where=lambda w: f"features.options, datasets.{run.named(w)}.shards, features.vocabularies",
        vocabularies=lambda w: run.vocabularies(w, "weighting", "normalise"),
    script:
        "../scripts/encode.py"
