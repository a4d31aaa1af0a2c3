rule write_configs:
    """Write down the settings that each study was run with."""
    output:
        configs=[f"{folder}/config.yaml" for folder in targets.settings_of_studies()],
    log:
        "results/logs/write_configs.log",
    benchmark:
        "results/timings/write_configs.tsv"
    resources:
        **needs,
    params:
        *code("write_configs"),
        where="studies",
        settings=list(targets.settings_of_studies().values()),
    script:
        "../scripts/write_configs.py"


rule judge_claims:
    """Judge the papers' claims that the studies test: each gets its number and verdict, on a page and in a table.

    Verdicts that rest on measured seconds differ each time. Their page and table lie apart.
    """
    input:
        tables=pages.judged_tables,
    output:
        page="results/claims/{datasets}/claims.md",
        table=in_report("results/claims/{datasets}/claims.csv", "Claims", "verdicts"),
        timed_page="results/claims/{datasets}/timings/claims.md",
        timed=in_report("results/claims/{datasets}/timings/claims.csv", "Claims", "verdicts that rest on seconds"),
    log:
        "results/claims/{datasets}/logs/judge_claims.log",
    benchmark:
        "results/claims/{datasets}/timings/judge_claims.tsv"
    resources:
        **needs,
    params:
        *code("judge_claims", "pipeline/papers/page.md.jinja"),
        where="studies",
        studies=pages.judged,
    script:
        "../scripts/judge_claims.py"
