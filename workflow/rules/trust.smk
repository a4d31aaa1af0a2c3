rule write_manifest:
    """Gather what a run was made with, its settings, and the checksums of the files it read and of its tables."""
    input:
        tables=targets.tables,
    output:
        manifest="results/claims/{datasets}/manifest.json",
        made_with=in_report("results/claims/{datasets}/made_with.csv", "Warnings", "versions and machines"),
    log:
        "results/claims/{datasets}/logs/write_manifest.log",
    benchmark:
        "results/claims/{datasets}/timings/write_manifest.tsv"
    resources:
        **needs,
    params:
        *code("write_manifest"),
        where="datasets",
        inputs=run.raw_of_datasets,
        settings=run.settings,
    script:
        "../scripts/write_manifest.py"
