rule choose_words:
    """Choose the most frequent content words, and record which words each image has.

    The labels have a column per word, in the order of the table of words.
    """
    input:
        images=plan.images,
        captions=lambda w: plan.corrected(w, "captions.parquet"),
    output:
        words=in_report("results/{dataset}/{study}/tables/words.csv", "Data", "words"),
        labels="results/{dataset}/{study}/labels.npy",
    log:
        "results/{dataset}/{study}/logs/choose_words.log",
    benchmark:
        "results/{dataset}/{study}/timings/choose_words.tsv"
    priority: 10  # so that mistakes in the words end the run before minutes are spent on descriptors
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("choose_words"),
        where="studies.{study}",
        smallest_size=lambda w: min(plan.words(w).all_sizes),
        options=lambda w: plan.words(w).words.given(without=["n_validation_words"]),
    script:
        "../scripts/choose_words.py"


rule draw_tasks:
    """Draw the training sets of every word and size, and the words whose validation images choose the radius.

    The table gives the size of each training set; the arrays are the input of the next stage.
    """
    input:
        images=plan.images,
        words="results/{dataset}/{study}/tables/words.csv",
        labels="results/{dataset}/{study}/labels.npy",
    output:
        tasks="results/{dataset}/{study}/tasks/run{run}.npz",
        table=in_report(
            "results/{dataset}/{study}/tables/tasks_run{run}.csv", "Data", "tasks of run {run}", caption="tasks"
        ),
    log:
        "results/{dataset}/{study}/logs/draw_tasks/run{run}.log",
    benchmark:
        "results/{dataset}/{study}/timings/draw_tasks/run{run}.tsv"
    priority: 10
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("draw_tasks"),
        where="studies.{study}",
        options=plan.task_options,
        seed=plan.config.seed,
    script:
        "../scripts/draw_tasks.py"
