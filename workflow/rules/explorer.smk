# Files from which a page is made, but which the rule's script does not import.
FRAME = [f"pipeline/explorer/{name}" for name in ("frame.html.jinja", "explorer.css", "explorer.js")]


rule write_page:
    """Write the page of a dataset: how well each word is recognised, on which pictures, and which features words share.

    The page can be opened from disk. Thumbnails and a table of labels that may be wrong are written next to it.
    """
    input:
        unpack(plan.kept_of_page),
        files=plan.files_of_page,
        claims=plan.claims,
    output:
        page=in_report("results/{dataset}/index.html", "Page", "what was learnt, and the claims", caption="page"),
        thumbnails=directory("results/{dataset}/thumbnails"),
        findings="results/{dataset}/findings.json",
        errors="results/{dataset}/errors.csv",
    log:
        "results/{dataset}/logs/write_page.log",
    benchmark:
        "results/{dataset}/timings/write_page.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code(
            "write_page",
            *FRAME,
            "pipeline/explorer/page.html.jinja",
            "pipeline/explorer/maps.html.jinja",
            *CLAIMS_PAGE,
            datasets=plan.loader,
        ),
        where=lambda w: f"datasets.{plan.named(w)}",
        loader=plan.loader,
        longest_side=plan.longest_side,
        options=plan.options,
        raw=plan.raw,
        note=lambda w: plan.datasets[w.dataset].note,
        network=plan.network,
        vocabulary=plan.final_vocabulary,
        words=plan.final_words,
        studies=plan.studies_of_page,
        pictures=plan.pictures_of_tables,
    script:
        "../scripts/write_page.py"


rule write_index:
    """Write the page that lists the pages of a run."""
    input:
        findings=expand("results/{dataset}/findings.json", dataset=plan.chosen),
    output:
        index="results/index.html",
    log:
        "results/logs/write_index.log",
    benchmark:
        "results/timings/write_index.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("write_index", *FRAME, "pipeline/explorer/index.html.jinja"),
        where="datasets",
    script:
        "../scripts/write_index.py"
