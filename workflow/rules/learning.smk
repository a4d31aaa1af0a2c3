TRAINING = BASE / "workflow" / "scripts" / "training.py"
TRAINED_BY = {
    "solvers": lambda w: run.study(w)["training"]["solver"],
    "losses": lambda w: w.loss,
    "norms": lambda w: w.norm,
}
NORMS = targets.norms(run.chosen)
KERNELS_OF = [run.files["solvers"]["working_set"], run.files["losses"]["hinge"], *map(run.files["norms"].get, NORMS)]


rule compile_kernels:
    """Compile the kernels of all norms in use in advance, so that many jobs do not each compile them.

    This job starts first, but no job waits for it: every job compiles the kernels that are still missing.
    """
    output:
        done="results/kernels.txt",
    log:
        "results/logs/compile_kernels.log",
    benchmark:
        "results/timings/compile_kernels.tsv"
    priority: 100
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("compile_kernels", *KERNELS_OF),
        where="studies",
        norms=NORMS,
    script:
        "../scripts/compile_kernels.py"


rule train_sweep:
    """For one loss and norm, train with every pair of initial step size and radius, for every training set size."""
    input:
        features=inputs.features,
        basis=inputs.basis,
        tasks="results/{dataset}/{study}/tasks/run{run}.npz",
    output:
        sweep="results/{dataset}/{study}/sweeps/run{run}/{loss}-{norm}.npz",
    log:
        "results/{dataset}/{study}/logs/train_sweep/run{run}/{loss}-{norm}.log",
    benchmark:
        "results/{dataset}/{study}/timings/train_sweep/run{run}/{loss}-{norm}.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("train_sweep", TRAINING, **TRAINED_BY),
        where="studies.{study}.methods.{loss}-{norm}",
        powers=run.powers,
        vocabulary=run.vocabulary,
        grid=run.method,
        training=lambda w: without(run.study(w)["training"], "sparsest"),
    script:
        "../scripts/train_sweep.py"


rule train_svm:
    """Train independent linear classifiers with scikit-learn's LinearSVC, over a grid of C, for every size."""
    input:
        features=inputs.features,
        basis=inputs.basis,
        tasks="results/{dataset}/{study}/tasks/run{run}.npz",
    output:
        sweep="results/{dataset}/{study}/sweeps/run{run}/svm-l2.npz",
    log:
        "results/{dataset}/{study}/logs/train_svm/run{run}.log",
    benchmark:
        "results/{dataset}/{study}/timings/train_svm/run{run}.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("train_svm", TRAINING),
        where="studies.{study}.methods.svm-l2",
        powers=run.powers,
        vocabulary=run.vocabulary,
        grid=lambda w: run.study(w)["methods"]["svm-l2"],
        seed=config["seed"],
    script:
        "../scripts/train_svm.py"


rule train_path:
    """For every training set size, train along a path of radii that the data determine, with warm starts."""
    input:
        images=inputs.images,
        features=inputs.features,
        basis=inputs.basis,
        labels="results/{dataset}/{study}/labels.npy",
        tasks="results/{dataset}/{study}/tasks/run{run}.npz",
    output:
        path="results/{dataset}/{study}/paths/run{run}/{loss}-{norm}.npz",
    log:
        "results/{dataset}/{study}/logs/train_path/run{run}/{loss}-{norm}.log",
    benchmark:
        "results/{dataset}/{study}/timings/train_path/run{run}/{loss}-{norm}.tsv"
    conda:
        "../envs/jointsparse.yaml"
    resources:
        **needs,
    params:
        *code("train_path", TRAINING, **TRAINED_BY),
        where="studies.{study}.training",
        powers=run.powers,
        vocabulary=run.vocabulary,
        training=lambda w: run.study(w)["training"],
        metric=lambda w: run.study(w)["metric"],
    script:
        "../scripts/train_path.py"
