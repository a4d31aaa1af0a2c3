rule describe:
    """Compute the local descriptors of one shard of the images, and how many each image has.

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
        *code("describe", datasets=lambda w: dataset(w)["loader"], features=lambda w: features(w)["extractor"]),
        where=lambda w: f"features.options, datasets.{named(w.dataset)}.shards",
        loader=lambda w: dataset(w)["loader"],
        options=lambda w: dataset(w)["options"],
        raw=raw,
        longest_side=lambda w: features(w)["longest_side"],
        extractor=lambda w: features(w)["extractor"],
        extractor_options=lambda w: features(w)["options"],
    script:
        "../scripts/describe.py"


rule grow_vocabulary:
    """Grow a vocabulary tree from a sample of the descriptors."""
    input:
        images="results/{dataset}/images.parquet",
        descriptors=shards("results/{dataset}/descriptors/{shard}-of-{shards}.npy"),
        counts=shards("results/{dataset}/descriptors/{shard}-of-{shards}.counts.npy"),
    output:
        tree="results/{dataset}/vocabularies/{vocabulary}/tree.npz",
    log:
        "results/{dataset}/vocabularies/{vocabulary}/logs/grow_vocabulary.log",
    benchmark:
        "results/{dataset}/vocabularies/{vocabulary}/timings/grow_vocabulary.tsv"
    resources:
        **needs,
    params:
        *code("grow_vocabulary"),
        where=lambda w: f"features.vocabularies.{w.vocabulary}",
        fitted_on=lambda w: vocabulary(w)["fitted_on"],
        sample_size=lambda w: vocabulary(w)["sample_size"],
        options=lambda w: {key: vocabulary(w)[key] for key in ("branching", "depth")},
        seed=config["seed"],
    script:
        "../scripts/grow_vocabulary.py"


rule encode:
    """Count how often each image of a shard has each visual word."""
    input:
        descriptors="results/{dataset}/descriptors/{shard}-of-{shards}.npy",
        counts="results/{dataset}/descriptors/{shard}-of-{shards}.counts.npy",
        tree="results/{dataset}/vocabularies/{vocabulary}/tree.npz",
    output:
        histograms="results/{dataset}/vocabularies/{vocabulary}/histograms/{shard}-of-{shards}.npz",
    log:
        "results/{dataset}/vocabularies/{vocabulary}/logs/encode/{shard}-of-{shards}.log",
    benchmark:
        "results/{dataset}/vocabularies/{vocabulary}/timings/encode/{shard}-of-{shards}.tsv"
    resources:
        **needs,
    params:
        *code("encode"),
        where=lambda w: f"features.vocabularies.{w.vocabulary}",
    script:
        "../scripts/encode.py"


rule weigh_histograms:
    """Weight and normalise the histograms of all images."""
    input:
        images="results/{dataset}/images.parquet",
        histograms=shards("results/{dataset}/vocabularies/{vocabulary}/histograms/{shard}-of-{shards}.npz"),
        tree="results/{dataset}/vocabularies/{vocabulary}/tree.npz",
    output:
        histograms="results/{dataset}/vocabularies/{vocabulary}/histograms.npz",
    log:
        "results/{dataset}/vocabularies/{vocabulary}/logs/weigh_histograms.log",
    benchmark:
        "results/{dataset}/vocabularies/{vocabulary}/timings/weigh_histograms.tsv"
    resources:
        **needs,
    params:
        *code("weigh_histograms"),
        where=lambda w: f"features.vocabularies.{w.vocabulary}",
        options=lambda w: {key: vocabulary(w)[key] for key in ("weighting", "normalise")},
    script:
        "../scripts/weigh_histograms.py"
