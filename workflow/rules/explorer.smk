rule write_page:
    """Write the page of a dataset: what was learnt of each word, on which pictures, and what words share.

    It opens from disk. Beside it lie thumbnails of the images that it shows, and a table of labels that may be wrong.
    """
    input:
        unpack(kept_of_page),
        files=files_of_page,
        claims=claims_of_page,
    output:
        page=report(
            "results/{dataset}/index.html",
            caption="../report/page.rst",
            category="Page",
            labels={"dataset": "{dataset}", "shows": "what was learnt, and the claims"},
        ),
        thumbnails=directory("results/{dataset}/thumbnails"),
        findings="results/{dataset}/findings.json",
        errors="results/{dataset}/errors.csv",
    log:
        "results/{dataset}/logs/write_page.log",
    benchmark:
        "results/{dataset}/timings/write_page.tsv"
    resources:
        **needs,
    params:
        *code(
            "write_page",
            *FRAME,
            "pipeline/explorer/page.html.jinja",
            "pipeline/explorer/maps.html.jinja",
            "pipeline/papers/claims.html.jinja",
            datasets=lambda w: dataset(w)["loader"],
        ),
        where=lambda w: f"datasets.{named(w.dataset)}",
        loader=lambda w: dataset(w)["loader"],
        longest_side=lambda w: features(w)["longest_side"],
        options=lambda w: dataset(w)["options"],
        raw=raw,
        note=lambda w: dataset(w).get("note", ""),
        vocabulary=lambda w: vocabulary(final_study(w)) if "final" in dataset(w) else None,
        studies=lambda w: page_studies(w.dataset),
        pictures=lambda w: pictures_of_page(w.dataset),
    script:
        "../scripts/write_page.py"


rule write_index:
    """Write the list of the pages of a run."""
    input:
        findings=expand("results/{dataset}/findings.json", dataset=CHOSEN),
    output:
        index="results/index.html",
    log:
        "results/logs/write_index.log",
    benchmark:
        "results/timings/write_index.tsv"
    resources:
        **needs,
    params:
        *code("write_index", *FRAME, "pipeline/explorer/index.html.jinja"),
        where="datasets",
    script:
        "../scripts/write_index.py"
