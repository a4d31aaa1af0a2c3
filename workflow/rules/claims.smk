# The files on which every page with claims depends, in addition to the files that its script imports.
CLAIMS_PAGE = [f"pipeline/papers/{name}" for name in ("claims.html.jinja", "claims.css")]


rule write_configs:
    """Write the settings of each study to a file."""
    output:
        configs=[f"{folder}/config.yaml" for folder in plan.settings_of_studies],
    log:
        "results/logs/write_configs.log",
    benchmark:
        "results/timings/write_configs.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("write_configs"),
        where="studies",
        settings=list(plan.settings_of_studies.values()),
    script:
        "../scripts/write_configs.py"


rule judge_claims:
    """Judge the claims that the studies test: write the estimates and verdicts as tables, and pages that show them.

    Verdicts that are based on timings differ from run to run, so they have a separate table and page. The overview
    shows all claims.
    """
    input:
        tables=plan.judged_tables,
    output:
        overview=in_report(
            "results/claims/{datasets}/index.html", "Claims", "all claims, a line each", caption="claims"
        ),
        page="results/claims/{datasets}/claims.md",
        table=in_report("results/claims/{datasets}/claims.csv", "Claims", "verdicts"),
        timed_page="results/claims/{datasets}/timings/claims.md",
        timed=in_report("results/claims/{datasets}/timings/claims.csv", "Claims", "verdicts that rest on seconds"),
    log:
        "results/claims/{datasets}/logs/judge_claims.log",
    benchmark:
        "results/claims/{datasets}/timings/judge_claims.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("judge_claims", *CLAIMS_PAGE, "pipeline/papers/page.md.jinja", "pipeline/papers/index.html.jinja"),
        where="studies",
        studies=plan.judged,
    script:
        "../scripts/judge_claims.py"
