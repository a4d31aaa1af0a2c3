"""Shared by all rules: the checked config, the library files of a stage, wildcards, and the list of results."""

import json
import os
import shlex
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

BASE = Path(workflow.basedir)
if os.pathsep in str(BASE):
    raise SystemExit(
        f"error: the workflow must lie in a folder without {os.pathsep!r} in its path, got {BASE}: move it"
    )
if sys.flags.optimize > 1:
    raise SystemExit("error: PYTHONOPTIMIZE must be less than 2, which takes away the sentences of claims and captions")
if (BASE / "src").is_dir():
    # Jobs use the library of this checkout, wherever pip may have put another.
    sys.path.insert(0, str(BASE / "src"))
    paths = [str(BASE / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ.update(PYTHONPATH=os.pathsep.join(paths))
sys.path.insert(0, str(BASE / "workflow"))
from jointsparse.pipeline.app.interrupt import end_interrupts_with

end_interrupts_with("error: interrupted\n")  # the imports below take a while
from jointsparse.pipeline.provenance import manifest, records
from configuration import studies as of_config
from configuration import code as of_code
from configuration import resources
from configuration.code import code_of, plug_in_file
from configuration.file import ConfigError, check_file
from jointsparse.pipeline.app import internals, terminal
from jointsparse.pipeline.app.blas import use_best_kernel
from jointsparse.pipeline.tasks import AUTO_SIZES
from jointsparse.registry import ROOMS, pick, room
from jointsparse.pipeline.papers.quattoni.numbers import report_size

# Of each page, besides the files that its script imports.
FRAME = [f"pipeline/explorer/{name}" for name in ("frame.html.jinja", "explorer.css", "explorer.js")]
calm = terminal.calm(workflow, without_jobs=lambda: verified())
IS_RUN = internals.is_run(workflow)
if not IS_RUN:
    use_best_kernel()  # of the machine that the job runs on; a run of this machine does so when it starts
for library in ("NUMBA", "OMP", "OPENBLAS", "MKL"):
    # One thread per job: the same sums in the same order on any number of cores.
    os.environ[f"{library}_NUM_THREADS"] = "1"

os.environ.setdefault(records.COMMIT, records.commit())
SEEN_CODE = "results/records/code.json"
of_code.recall(SEEN_CODE)

# The config.yaml that comes with the workflow, and over it that of this folder.
SETTINGS = list(dict.fromkeys(file.resolve() for file in (BASE / "config.yaml", Path("config.yaml")) if file.exists()))
try:
    for file in (*SETTINGS, *map(Path, workflow.overwrite_configfiles)):
        if IS_RUN and file.exists():
            check_file(file)
except ConfigError as error:
    raise SystemExit(f"error: {error}")


configfile: str(SETTINGS[0])


if len(SETTINGS) > 1:

    configfile: str(SETTINGS[1])


try:
    if IS_RUN:
        from configuration.check import check  # which imports much

        check(config, BASE / "workflow" / "config.schema.yaml")
    CHOSEN, DATASETS = of_config.chosen_datasets(config), of_config.datasets_of(config)
    if config.get("quick"):
        quick = {f"{name}-quick": of_config.glance(name, DATASETS[name]) for name in CHOSEN}
        CHOSEN, DATASETS, config["datasets"] = [*quick], DATASETS | quick, config["datasets"] | quick
    for name in CHOSEN if IS_RUN else ():
        of_config.raw_files(name, DATASETS[name])
except ConfigError as error:
    raise SystemExit(f"error: {error}")


def drawn(w):
    """How many images or samples of a dataset are drawn, and their seed, which matters to no other dataset."""
    return [dataset(w)["most_samples"], config["seed"]] if "most_samples" in dataset(w) else [None, None]


def named(dataset):
    """The name of a dataset in the settings, also of a glance at it."""
    return dataset.removesuffix("-quick") if config.get("quick") else dataset


def any_of(names):
    """A wildcard that is one of these names."""
    return "|".join(names) or "(?!)"  # an expression that no text matches


def without(block, *keys):
    """A block without some of its keys."""
    return {key: value for key, value in block.items() if key not in keys}


FOUND = "JOINTSPARSE_FOUND"  # environment variable: what the process of the user has found, for those of its jobs
if IS_RUN:
    os.environ[FOUND] = "{}"


def of_run(key, find):
    """The value of a function, which takes time. Processes of jobs take that of the user's process, if they have it."""
    found = json.loads(os.environ.get(FOUND, "{}"))
    if key not in found:
        found[key] = find()
        os.environ[FOUND] = json.dumps(found)
    return found[key]


# Of plug-ins, which take a second to import: the file of each by room, what datasets offer, tables of experiments, and
# options of extractors.
FILES = of_run("files", lambda: {each: {name: plug_in_file(each, name) for name in room(each)} for each in ROOMS})
OFFERS = of_run("offers", lambda: {name: pick("datasets", each["loader"]).OFFERS for name, each in DATASETS.items()})
TABLES = of_run("tables", lambda: {kind: pick("experiments", kind).TABLES for kind in room("experiments")})
TAKES = of_run("takes", lambda: {name: pick("features", name).TAKES for name in room("features")})

for entry in DATASETS.values():
    entry["features"] = of_config.with_own_options(entry["features"], TAKES[entry["features"]["extractor"]])

PICTURES, SAMPLES, DRAWN = (
    [name for name, offered in OFFERS.items() if offered == what] for what in ("pictures", "samples", "drawn")
)
MEASURED = [kind for kind in TABLES if TABLES[kind][kind] == "timings"]
REPEATED = [kind for kind in TABLES if kind not in MEASURED]


def of_kind(*kinds):
    """A wildcard that is a study of one of these kinds."""
    return any_of([name for name in config["studies"] if of_config.full_block(config, name)["kind"] in kinds])


localrules:  # on a cluster, too: they compute nothing
    write_configs,
    write_index,


wildcard_constraints:
    datasets=rf"({any_of(DATASETS)})(\+({any_of(DATASETS)}))*",
    dataset=any_of(DATASETS),
    study=any_of(config["studies"]),
    run=r"\d+",
    shard=r"\d+",
    shards=r"\d+",
    folder="tables|timings",
    loss=any_of(FILES["losses"]),
    norm=any_of(FILES["norms"]),


def dataset(w):
    """The entry of the dataset that a job is about."""
    return DATASETS[w.dataset]


def features(w):
    """The block `features`, as the dataset that a job is about has it."""
    return dataset(w)["features"]


def study(w):
    """The block of the study that a job is about, with the values that the dataset's entry replaces."""
    return dataset(w)["studies"][w.study]


def vocabularies(w, *keys):
    """The vocabularies that some study of a dataset uses, with these of their keys."""
    used = {block["vocabulary"] for block in dataset(w)["studies"].values() if "vocabulary" in block}
    blocks = {name: block for name, block in features(w)["vocabularies"].items() if name in used}
    return {name: {key: block[key] for key in keys} for name, block in blocks.items()}


def vocabulary(w):
    """The vocabulary of a study of pictures, whose histograms it or its basis starts from."""
    return study(w).get("vocabulary") if w.dataset in PICTURES else None


def code(script, *files, **plug_ins):
    """Params that change with the code: a line for a script, and for each library file that decides its numbers.

    files: library files besides those that the script imports, or paths of modules beside it. plug_ins: the name of the
    plug-in that the script picks in a room, or a function of the wildcards that returns the name.
    """
    lines = code_of(BASE / "workflow" / "scripts" / f"{script}.py", *files)

    # One param for each file that some plug-in needs. It is empty for jobs that pick another plug-in, so that a dry run
    # names only the edited file.
    def of_picked(line, each, picked):
        return lambda w: line if line in each[picked(w)] else ""

    for room_name, picked in plug_ins.items():
        each = {name: code_of(file) for name, file in FILES[room_name].items()}
        if isinstance(picked, str):
            lines += each[picked]
        else:
            more = {line for own in each.values() for line in own}.difference(lines)
            lines += [of_picked(line, each, picked) for line in sorted(more)]
    return lines


@cache
def raw_of(name):
    """The raw files of a dataset, and a digest of their contents: see `records.checksums`.

    As it is a param, a job runs again if they are others, whatever their dates.
    """
    paths, seen = of_config.raw_files(name, DATASETS[name]), f"results/{name}/records/raw_files.json"
    try:
        found = of_run(f"raw {name}", lambda: records.digest(records.checksums(paths, seen, records.LARGEST_RAW)))
        return {"paths": paths, "cache": seen, "digest": found}
    except OSError as error:
        raise SystemExit(f"error: the files of the dataset {name} cannot be read: {error}")


def raw(w):
    """`raw_of` for the dataset that a job is about."""
    return raw_of(w.dataset)


def of_size(number, by_shard=()):
    """What a job asks a cluster for: a number by its rule, norm and largest file, times its attempt.

    by_shard: rules for which the largest shard counts, and not all of them together.
    """

    def asked(wildcards, input, attempt, rulename):
        first = raw(wildcards)["paths"] if wildcards.get("dataset") and not input else []
        read_mb = resources.largest_mb([*input, *first], joined=rulename not in by_shard)
        return attempt * number(rulename, wildcards.get("norm", ""), read_mb)

    return asked


needs = {"mem_mb": of_size(resources.megabytes, resources.BY_SHARD), "runtime": of_size(resources.minutes)}


@cache
def shards_of(dataset):
    """The number of shards of a dataset of pictures."""
    return of_run(f"shards {dataset}", lambda: of_config.n_shards(dataset, DATASETS[dataset]))


def shards(pattern, dataset):
    """All parts of a result that jobs make in shards."""
    n = shards_of(dataset)
    return expand(pattern, dataset=dataset, shard=range(n), shards=n)


# Params of the jobs that describe images.
DESCRIBED = {
    "loader": lambda w: dataset(w)["loader"],
    "options": lambda w: dataset(w)["options"],
    "longest_side": lambda w: features(w)["longest_side"],
    "extractor": lambda w: features(w)["extractor"],
    "extractor_options": lambda w: features(w)["options"],
}
DESCRIBING = BASE / "workflow" / "scripts" / "describing.py"
DESCRIBED_BY = {"datasets": DESCRIBED["loader"], "features": DESCRIBED["extractor"]}


def described_where(w):
    """The places of the settings that decide how an image is described."""
    return f"features.options, datasets.{named(w.dataset)}.shards"


def images_of_study(w):
    """The images of a study with their splits."""
    own = "{dataset}/{study}" if any(study(w)["set_aside"].values()) else "{dataset}"
    return f"results/{own}/images.parquet"


def given_features(w):
    """The features that a study starts from: histograms of visual words, or those that the dataset comes with."""
    if w.dataset in SAMPLES:
        return "results/{dataset}/features.npz"
    return shards("results/{dataset}/histograms/{shard}-of-{shards}.npz", w.dataset)


def features_of_study(w):
    """The features that a study learns from."""
    for kind in ("basis", "similarities"):
        if study(w).get(kind):
            return f"results/{{dataset}}/{{study}}/{kind}/features.{'npy' if kind == 'basis' else 'npz'}"
    return given_features(w)


def runs(w):
    """The numbers of a study's runs."""
    return range(1, study(w)["runs"] + 1)


def sweeps_of_study(w):
    """All sweeps of a study, and its paths in the place of those whose radii the data choose."""
    folders = {
        method: "paths" if grid.get("radius") == of_config.AUTO else "sweeps"
        for method, grid in study(w)["methods"].items()
    }
    return [
        f"results/{{dataset}}/{{study}}/{folder}/run{run}/{method}.npz"
        for run in runs(w)
        for method, folder in folders.items()
    ]


def basis_of_study(w):
    """The basis of a study whose features are learnt from in other powers of the singular values than 1."""
    powers = powers_of_study(w)
    return [] if powers in ([], [1]) else "results/{dataset}/{study}/basis/basis.npz"


def powers_of_study(w):
    """The powers of the singular values that scale the features of a study's basis; none without a basis."""
    powers = (study(w).get("basis") or {"power": []})["power"]
    return powers if isinstance(powers, list) else [powers]


def final_study(w):
    """The study of a dataset's final fits, as a job of that study has it."""
    return SimpleNamespace(dataset=w.dataset, study=dataset(w)["final"]["study"])


def formatted(files, w):
    """A file or several of them, with the dataset and the study of a job in their names."""
    one = isinstance(files, str)
    return files.format(**vars(w)) if one else [formatted(file, w) for file in files]


def files_of_final(w):
    """What a final fit learns from."""
    one, folder = final_study(w), f"results/{w.dataset}/{dataset(w)['final']['study']}"
    files = {"images": images_of_study(one), "features": features_of_study(one), "labels": f"{folder}/labels.npy"}
    files |= {"words": f"{folder}/tables/words.csv"}
    files |= {"basis": f"{folder}/basis/basis.npz"} if study(one).get("basis") else {}
    return {key: formatted(file, one) for key, file in files.items()}


def files_of_model(w):
    """What the kept model of a dataset is made of."""
    one, made = final_study(w), f"results/{w.dataset}/final/{of_config.final_norms(dataset(w))[0]}"
    files = files_of_final(w) | {"model": f"{made}.skops", "scores": f"{made}.npz", "table": f"{made}.csv"}
    files |= {"features": formatted(given_features(one), one)}
    files |= {"vocabularies": f"results/{w.dataset}/vocabularies.npz"} if w.dataset in PICTURES else {}
    return without(files, "labels", "words")


def kept_of_page(w):
    """The kept model of a page, if its dataset has one, and what it is shown on."""
    if "final" not in dataset(w):
        return {}
    files = files_of_model(w)
    own = {"model": f"results/{w.dataset}/model.skops", "labels": files_of_final(w)["labels"]}
    return own | {key: files[key] for key in ("images", "features")}


def samples(w):
    """The files of a dataset that an experiment learns from; none if it draws its own samples."""
    names = {"images": "images.parquet", "captions": "captions.parquet", "features": "features.npz"}
    return {key: f"results/{w.dataset}/{name}" for key, name in names.items()} if w.dataset in SAMPLES else {}


def options_of_study(w):
    """The options that a study passes to its experiment."""
    return without(study(w), "kind", "runs", "figures", "claims")


def sizes(w):
    """The sizes of a study's training sets, or all that may become its sizes."""
    return list(AUTO_SIZES) if study(w)["sizes"] == of_config.AUTO else study(w)["sizes"]


def at_size(w):
    """The training sets that figures for a single size show, or the next smaller ones if these are not drawn."""
    return study(w).get("at_size", report_size(sizes(w)))


def table(name, block):
    """The path of a table in its study's folder. Measured seconds lie apart."""
    return f"{of_config.tables_of(block)[name]}/{name}.csv"


def drawing(name):
    """The figure of a name."""
    from jointsparse.pipeline.papers.catalogue import FIGURES  # jobs that draw nothing save the import

    return FIGURES[name]


def tables_of_figures(w):
    """The tables that a study's figures show."""
    shown = [drawing(figure) for figure in study(w)["figures"]]
    needed = {name for figure in shown for name in (figure.table, figure.beside)}
    needed &= set(of_config.tables_of(study(w)))
    return [f"results/{{dataset}}/{{study}}/{table(name, study(w))}" for name in sorted(needed)]


def studies(datasets):
    """Each dataset with each of its studies and the block of that study."""
    for name in datasets:
        for one, block in DATASETS[name]["studies"].items():
            yield name, one, block


def judged_studies(datasets):
    """What the claims of each study that has some are judged by, and the columns that say where a verdict comes from."""
    from jointsparse.pipeline.papers.verdicts import CLAIMS  # jobs that judge nothing save the import

    judged = []
    for name, one, block in studies(datasets):
        needed = {each for claim in block["claims"] for each in CLAIMS[claim].tables}
        made = sorted(needed & set(of_config.tables_of(block)))
        judged.append(
            {
                "ids": block["claims"],
                "tables": [f"results/{name}/{one}/{table(each, block)}" for each in made],
                "dataset": name,
                "study": one,
                "seed": config["seed"],
                "config": f"results/{name}/{one}/config.yaml",
                "note": DATASETS[name].get("note", ""),
                "demonstration": DATASETS[name].get("demonstration", False),
            }
        )
    return [one for one in judged if one["ids"]]


def page_studies(name):
    """What the page of a dataset shows of each of its studies: files, by what they hold, and its figures."""
    shown = []
    for _, one, block in studies([name]):
        w = SimpleNamespace(dataset=name, study=one)
        wanted = ("chosen", "means", "by_word", "words_learnt", "differences", "sparsity", "warnings", "words")
        made = set(of_config.tables_of(block))
        files = {"tables": [f"results/{name}/{one}/{table(each, block)}" for each in wanted if each in made]}
        files["figures"] = [f"results/{name}/{one}/figures"] if block["figures"] else []
        features = formatted(features_of_study(w), w) if block["kind"] == of_config.WORDS else []
        if block["kind"] == of_config.WORDS:
            files |= {"scores": [f"results/{name}/{one}/scores.npz"], "labels": [f"results/{name}/{one}/labels.npy"]}
            files |= {"images": [images_of_study(w)], "features": [features] if isinstance(features, str) else features}
            files["sweeps"] = sweeps_of_study(w)
        drawn = {figure: drawing(figure) for figure in block["figures"]}
        shown.append(
            {
                "name": one,
                "files": {key: formatted(each, w) for key, each in files.items()},
                "features": features,
                "words": vocabulary(w),
                "figures": {f"{one}/figures/{key}.png": each.caption for key, each in drawn.items()},
            }
        )
    return shown


def pictures_of_page(name):
    """The pictures that show each table, by study."""
    return {
        one: {
            each: [
                f"{one}/figures/{key}.png"
                for key in block["figures"]
                if each in (drawing(key).table, drawing(key).beside)
            ]
            for each in of_config.tables_of(block)
        }
        for _, one, block in studies([name])
    }


def claims_of_page(w):
    """The verdicts of this run, or of the page's dataset alone if this run is about others."""
    datasets = CHOSEN if w.dataset in CHOSEN else [w.dataset]
    folder = f"results/claims/{'+'.join(datasets)}"
    judged = any(block["claims"] for _, _, block in studies(datasets))
    return [f"{folder}/claims.csv", f"{folder}/timings/claims.csv"] if judged else []


def files_of_page(w):
    """All that the page of a dataset is made of, but its claims."""
    files = [file for one in page_studies(w.dataset) for each in one["files"].values() for file in each]
    names = [] if w.dataset in DRAWN else ["images.parquet", "captions.parquet", "left_out.csv"]
    names += ["features.npz"] if w.dataset in SAMPLES else []
    return [*dict.fromkeys(files), *(f"results/{w.dataset}/{name}" for name in names)]


def settings_of_studies():
    """The folder and the settings of each study of this run."""
    return {
        f"results/{name}/{one}": {
            "seed": config["seed"],
            "datasets": {name: without(DATASETS[name], "studies", "note", "features")},
            "features": DATASETS[name]["features"],
            "studies": {one: block},
        }
        for name, one, block in studies(CHOSEN)
    }


def norms_of_run(datasets):
    """The norms that jobs of these datasets use: those of their methods, and those that their experiments import."""
    blocks = [block for _, _, block in studies(datasets)]
    kinds = {block["kind"] for block in blocks} & TABLES.keys()
    imported = {line.split()[0] for kind in kinds for line in code_of(FILES["experiments"][kind])}
    methods = {method for block in blocks for method in block.get("methods", {}) if method != "svm-l2"}
    of_methods = {method.rpartition("-")[2] for method in methods}
    of_methods |= {norm for name in datasets for norm in of_config.final_norms(DATASETS[name])}
    return sorted(norm for norm in FILES["norms"] if norm in of_methods or f"norms/{norm}.py" in imported)


def everything():
    """The results of the configured datasets, their manifest, and their pages."""
    kernels = [f"results/kernels/{norm}.txt" for norm in norms_of_run(CHOSEN)]
    pages = [f"results/{name}/index.html" for name in CHOSEN]
    # A glance leaves the list of pages of a whole run as it is.
    pages += [] if config.get("quick") and Path("results/index.html").exists() else ["results/index.html"]
    return [*kernels, *results_of(CHOSEN), f"results/claims/{'+'.join(CHOSEN)}/manifest.json", *pages]


def verified():
    """A line about the results of the configured datasets: whether they are as the jobs have left them."""
    made = manifest.recorded(Path("results"))
    changed = manifest.different(made, cache="results/records/seen.json")
    return (
        f"changed after they were made: rm -r {shlex.join(changed)}; then run again"
        if changed
        else f"{len(made)} results as recorded."
    )


def tables_of_run(datasets):
    """Every table of these datasets but measured seconds, which differ each time."""
    pages = [file.removesuffix("md") + "csv" for file in results_of(datasets) if file.endswith("claims.md")]
    return [file for file in results_of(datasets) + pages if file.endswith(".csv") and "/timings/" not in file]


def results_of(datasets):
    """The tables and figures of every study of these datasets, and the claims."""
    results = []
    if any(block["claims"] for _, _, block in studies(datasets)):
        results.append(f"results/claims/{'+'.join(datasets)}/claims.md")
    for name in datasets:
        results += [f"results/{name}/left_out.csv"] if name not in DRAWN else []
        if name in PICTURES and "descriptors" in DATASETS[name]["features"]["keep"]:
            results += shards("results/{dataset}/descriptors/{shard}-of-{shards}.npy", name)
        finals = of_config.final_norms(DATASETS[name])
        results += [f"results/{name}/final/{norm}.csv" for norm in finals]
        results += [f"results/{name}/model.skops"] if finals else []
    for name, one, block in studies(datasets):
        results.append(f"results/{name}/{one}/config.yaml")
        results += [f"results/{name}/{one}/{table(each, block)}" for each in of_config.tables_of(block)]
        results += [f"results/{name}/{one}/figures"] if block["figures"] else []
    return results
