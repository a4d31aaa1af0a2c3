rule inspect_features:
    """List oddities of a study's features, and images that repeat in another split."""
    input:
        images=images_of_study,
        features=features_of_study,
        given=given_features,
    output:
        features="results/{dataset}/{study}/tables/odd_features.csv",
        repeated=report(
            "results/{dataset}/{study}/tables/repeated.csv",
            caption="../report/repeated.rst",
            category="Warnings",
            labels={"dataset": "{dataset}", "study": "{study}", "shows": "repeated images"},
        ),
    log:
        "results/{dataset}/{study}/logs/inspect_features.log",
    benchmark:
        "results/{dataset}/{study}/timings/inspect_features.tsv"
    resources:
        **needs,
    params:
        *code("inspect_features"),
        where=lambda w: f"studies.{w.study}",
        vocabulary=vocabulary,
    script:
        "../scripts/inspect_features.py"


rule gather_warnings:
    """Gather all warnings of a study's tables."""
    input:
        tables=lambda w: [
            *(f"results/{{dataset}}/{{study}}/tables/{name}.csv" for name in of_config.warned_tables(study(w))),
            *(["results/{dataset}/left_out.csv"] if w.dataset not in DRAWN else []),
        ],
    output:
        warnings=report(
            "results/{dataset}/{study}/tables/warnings.csv",
            caption="../report/warnings.rst",
            category="Warnings",
            labels={"dataset": "{dataset}", "study": "{study}", "shows": "warnings"},
        ),
    log:
        "results/{dataset}/{study}/logs/gather_warnings.log",
    benchmark:
        "results/{dataset}/{study}/timings/gather_warnings.tsv"
    resources:
        **needs,
    params:
        *code("gather_warnings"),
        where=lambda w: f"studies.{w.study}",
    script:
        "../scripts/gather_warnings.py"


rule write_manifest:
    """Gather what a run was made with, its settings, and the checksums of the files it read and of its tables."""
    input:
        tables=lambda w: tables_of_run(w.datasets.split("+")),
    output:
        manifest="results/claims/{datasets}/manifest.json",
        made_with=report(
            "results/claims/{datasets}/made_with.csv",
            caption="../report/made_with.rst",
            category="Warnings",
            labels={"dataset": "{datasets}", "shows": "versions and machines"},
        ),
    log:
        "results/claims/{datasets}/logs/write_manifest.log",
    benchmark:
        "results/claims/{datasets}/timings/write_manifest.tsv"
    resources:
        **needs,
    params:
        *code("write_manifest"),
        where="datasets",
        inputs=lambda w: {name: raw_of(name) for name in w.datasets.split("+")},
        settings=lambda w: of_config.settings_of(config, w.datasets.split("+")),
    script:
        "../scripts/write_manifest.py"
