TRAINING = BASE / "workflow" / "scripts" / "training.py"
TRAINED_BY = {
    "solvers": lambda w: plan.words(w).training.solver,
    "losses": lambda w: w.loss,
    "norms": lambda w: w.norm,
}
KERNELS_OF = [
    plug_in_file("solvers", "working_set"),
    plug_in_file("losses", "hinge"),
    *(plug_in_file("norms", norm) for norm in plan.norms),
]


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
        norms=plan.norms,
    script:
        "../scripts/compile_kernels.py"


rule train_sweep:
    """For one loss and norm, train with every pair of initial step size and radius, for every training set size."""
    input:
        features=plan.features,
        basis=plan.basis,
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
        powers=lambda w: plan.words(w).powers,
        vocabulary=plan.vocabulary,
        grid=plan.grid,
        training=lambda w: plan.words(w).training.given(without=["sparsest"]),
    script:
        "../scripts/train_sweep.py"


rule train_svm:
    """Train independent linear classifiers with scikit-learn's LinearSVC, over a grid of C, for every size."""
    input:
        features=plan.features,
        basis=plan.basis,
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
        powers=lambda w: plan.words(w).powers,
        vocabulary=plan.vocabulary,
        grid=lambda w: plan.words(w).methods["svm-l2"].given(),
        seed=plan.config.seed,
    script:
        "../scripts/train_svm.py"


rule train_path:
    """For every training set size, train along a path of radii that the data determine, with warm starts."""
    input:
        images=plan.images,
        features=plan.features,
        basis=plan.basis,
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
        powers=lambda w: plan.words(w).powers,
        vocabulary=plan.vocabulary,
        training=lambda w: plan.words(w).training.given(),
        metric=lambda w: plan.words(w).metric,
    script:
        "../scripts/train_path.py"
