# Files from which a page is made, but which the rule's script does not import.
FRAME = [f"pipeline/page/{name}" for name in ("frame.html.jinja", "page.css", "page.js")]


rule write_page:
    """Write the page of a saved model: how well each word is recognised, on which pictures, and which features it uses.

    The page can be opened from disk. Thumbnails are written next to it.
    """
    input:
        unpack(plan.inputs_of_page),
    output:
        page=in_report("results/{dataset}/index.html", "Page", "what was learnt", caption="page"),
        thumbnails=directory("results/{dataset}/thumbnails"),
        findings="results/{dataset}/findings.json",
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
            "pipeline/page/model.html.jinja",
            "pipeline/page/maps.html.jinja",
            datasets=plan.loader,
        ),
        where=lambda w: f"datasets.{plan.named(w)}",
        loader=plan.loader,
        longest_side=plan.longest_side,
        options=plan.options,
        raw=plan.raw,
        note=lambda w: plan.datasets[w.dataset].note,
        corrected=plan.named,
        network=plan.network,
        vocabulary=plan.final_vocabulary,
        learnable=plan.final_words,
    script:
        "../scripts/write_page.py"


rule write_index:
    """Write the page that lists the datasets of a run: the model of each dataset, and the results of its studies."""
    input:
        findings=[f"results/{name}/findings.json" for name in plan.with_models],
        results=plan.results(plan.chosen),
        claims=plan.claims(),
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
        *code("write_index", *FRAME, "pipeline/page/index.html.jinja"),
        where="datasets",
        datasets=plan.listed(),
        overview=plan.overview(),
    script:
        "../scripts/write_index.py"
