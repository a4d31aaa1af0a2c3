rule write_configs:
    """Write down the settings that each study was run with."""
    output:
        configs=[f"{folder}/config.yaml" for folder in settings_of_studies()],
    log:
        "results/logs/write_configs.log",
    benchmark:
        "results/timings/write_configs.tsv"
    params:
        *code("write_configs"),
        where="studies",
        settings=list(settings_of_studies().values()),
    script:
        "../scripts/write_configs.py"


rule judge_claims:
    """Judge the papers' claims that a study tests: each gets its number and verdict."""
    input:
        tables=tables_of_claims,
    output:
        claims="results/{dataset}/{study}/{folder}/claims.csv",
    log:
        "results/{dataset}/{study}/logs/judge_claims_{folder}.log",
    benchmark:
        "results/{dataset}/{study}/timings/judge_claims_{folder}.tsv"
    params:
        *code("judge_claims"),
        where=lambda w: f"studies.{w.study}.claims",
        ids=lambda w: study(w)["claims"],
        note=lambda w: dataset(w).get("note", ""),
        # Only named in the table. As an input it would have all claims judged again whenever one setting changes, and
        # as an ancient() input it would hide every other reason for a rerun.
        config="results/{dataset}/{study}/config.yaml",
        seed=config["seed"],
    script:
        "../scripts/judge_claims.py"


rule write_claims_page:
    """Write the claims of all studies that were run on one page.

    The tables hold what the page says. Verdicts that rest on measured seconds differ each time and lie apart.
    """
    input:
        claims=lambda w: [
            f"results/{name}/{one}/{table('claims', block)}"
            for name, one, block in studies(w.datasets.split("+"))
            if block["claims"]
        ],
    output:
        page=report(
            "results/claims/{datasets}/claims.md",
            caption="../report/claims.rst",
            category="Claims",
        ),
        table="results/claims/{datasets}/claims.csv",
        timed="results/claims/{datasets}/timings/claims.csv",
    log:
        "results/claims/{datasets}/logs/write_claims_page.log",
    benchmark:
        "results/claims/{datasets}/timings/write_claims_page.tsv"
    params:
        *code("write_claims_page", "papers/page.md.jinja"),
        where="studies",
    script:
        "../scripts/write_claims_page.py"
