rule draw_figures:
    """Draw the figures of a study from its tables.

    One job draws all figures, because starting a job takes longer than drawing a figure.
    """
    input:
        tables=plan.tables_of_figures,
    output:
        figures=report(
            directory("results/{dataset}/{study}/figures"),
            patterns=["{figure}.png"],
            caption="../report/figures.rst",
            category="Figures",
            labels={"result": "{dataset}, {study}: {figure}"},
        ),
    log:
        "results/{dataset}/{study}/logs/draw_figures.log",
    benchmark:
        "results/{dataset}/{study}/timings/draw_figures.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("draw_figures", "pipeline/figures/jointsparse.mplstyle"),
        where="studies.{study}.figures",
        beside_paper=lambda w: plan.datasets[w.dataset].beside_paper,
        captions=plan.captions,
    script:
        "../scripts/draw_figures.py"
