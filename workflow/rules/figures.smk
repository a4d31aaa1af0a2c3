rule draw_figure:
    """Draw one figure of a study, from its table."""
    input:
        table=table_of_figure,
    output:
        png=report(
            "results/{dataset}/{study}/figures/{figure}.png",
            caption="../report/figures.rst",
            category="Results",
        ),
        pdf="results/{dataset}/{study}/figures/{figure}.pdf",
    log:
        "results/{dataset}/{study}/logs/draw_figure/{figure}.log",
    benchmark:
        "results/{dataset}/{study}/timings/draw_figure/{figure}.tsv"
    params:
        *code("draw_figure", "figures/jointsparse.mplstyle"),
        where=lambda w: f"studies.{w.study}.figures",
        caption=lambda w: FIGURES[w.figure].caption,
    script:
        "../scripts/draw_figure.py"
