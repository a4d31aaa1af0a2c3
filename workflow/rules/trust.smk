rule inspect_features:
    """List anomalies in a study's features, and images that occur in more than one split."""
    input:
        images=plan.images,
        features=plan.features,
        given=plan.given_features,
    output:
        features="results/{dataset}/{study}/tables/odd_features.csv",
        repeated=in_report("results/{dataset}/{study}/tables/repeated.csv", "Warnings", "repeated images"),
    log:
        "results/{dataset}/{study}/logs/inspect_features.log",
    benchmark:
        "results/{dataset}/{study}/timings/inspect_features.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("inspect_features"),
        where="studies.{study}",
        vocabulary=plan.vocabulary,
    script:
        "../scripts/inspect_features.py"


rule write_manifest:
    """Record the settings of a run, the versions of its software, and the checksums of its raw files and tables."""
    input:
        tables=plan.tables,
    output:
        manifest="results/claims/{datasets}/manifest.json",
        made_with=in_report("results/claims/{datasets}/made_with.csv", "Warnings", "versions and machines"),
    log:
        "results/claims/{datasets}/logs/write_manifest.log",
    benchmark:
        "results/claims/{datasets}/timings/write_manifest.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("write_manifest"),
        where="datasets",
        inputs=plan.raw_of_datasets,
        settings=lambda w: plan.settings(w.datasets.split("+")),
    script:
        "../scripts/write_manifest.py"
