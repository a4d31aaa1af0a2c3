"""Studies: a class of settings for each kind."""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, Self, get_args

from annotated_types import Ge, Le, MinLen
from pydantic import Discriminator, Field, Tag, model_validator

from jointsparse.pipeline.settings.values import (
    AUTO,
    Claims,
    Count,
    Counts,
    Distinct,
    Figures,
    FittedOn,
    Fraction,
    Grid,
    InnerFraction,
    Loss,
    Norm,
    NullRemoves,
    Number,
    NumberOfFeatures,
    NumberOfTasks,
    Power,
    Radii,
    Removable,
    Runs,
    SeveralCounts,
    Steps,
    Text,
    misplaced,
    one_of,
    shown,
    tags_of,
)
from jointsparse.pipeline.tasks import AUTO_SIZES, SMALLEST_SIZE

MIN_LENGTH = 3  # accepted even where a shortest length has no effect
SPARSE_NORMS = ("l1", "l12", "l1inf")  # norms with which a fit leaves features out
SVM = "svm-l2"  # the only method that is not named loss-norm


class Words(Removable):
    """Which words of the captions are tasks."""

    n_words: Annotated[int, Ge(2), Le(100_000)] | Literal["auto"]
    """Number of words; or auto, all words with enough images, at most 40."""
    n_validation_words: NumberOfTasks | Literal["auto"]
    """Number of words that choose the radius; or auto, a quarter of the words."""
    min_length: Annotated[int, Ge(1), Le(100)] = MIN_LENGTH
    """Length of the shortest word in letters, if captions are split."""
    stop_words: list[str] = []
    """Words to ignore, in addition to the English function words."""
    split_captions: bool = True
    """True if captions are sentences, false if a caption is a single label."""
    join_inflections: bool = False
    """True to treat words with the same stem as one word."""

    @model_validator(mode="after")
    def _leave_words(self) -> Self:
        fits = self.n_validation_words == AUTO or (
            self.n_words != AUTO and int(self.n_validation_words) < int(self.n_words)
        )
        if not fits:
            most = "auto if n_words is auto" if self.n_words == AUTO else f"less than n_words = {self.n_words}"
            said = f"n_validation_words must be {most}, got {self.n_validation_words}"
            raise misplaced(said, "n_validation_words")
        return self


class AutoSizes(Removable):
    """Sizes that the data determine."""

    auto: Annotated[int, Ge(1), Le(4)]
    """Number of sizes: the largest that half of the words reach, a quarter of it, a sixteenth of it, …"""


class Basis(Removable):
    """The SVD basis."""

    rank: NumberOfFeatures | Literal["full", "auto"]
    """Number of features in the new basis; full, as many as the images allow; or auto, half the number of images."""
    centred: bool = True
    """True to subtract the mean first."""
    power: Power | Annotated[list[Power], MinLen(1), Distinct] = 1
    """Power of the singular values that scales the features: 1 keeps their variances, 0 makes them equal.

    From a list, each method chooses a power on the validation words."""
    fitted_on: FittedOn = ["train"]
    """Splits that the basis is computed from."""


class SimilaritiesBase(Removable):
    """Similarities to unlabelled images as features."""

    n_prototypes: Count
    """Number of unlabelled images."""
    centred: bool = True
    """True to subtract the mean similarities."""


class Similarities(SimilaritiesBase):
    """Similarities of histograms."""

    REPLACED = ("gamma",)
    measure: Literal["intersection", "cosine"]
    """How two histograms are compared."""


class RbfSimilarities(SimilaritiesBase):
    """Similarities by a Gaussian kernel."""

    measure: Literal["rbf"]
    """How two histograms are compared."""
    gamma: Number | None = None
    """Inverse squared width of the kernel; by default as the histograms suggest."""


class Certified(Removable):
    """Training by a solver that stops at a certified gap."""

    REPLACED = ("eta0_unit",)
    solver: Literal["working_set", "pdhg"]
    """The solver plug-in."""
    n_iter: Steps
    """Largest number of iterations."""
    tol: Fraction | None = None
    """Relative duality gap at which the solver stops."""
    normalisation: Literal["sum", "mean"] = "sum"
    """Whether the losses of a word are added up (sum) or averaged (mean)."""
    intercept: bool = False
    """True if each word learns an intercept."""
    sparsest: Fraction = 1.0
    """A path of radii continues until at most this fraction of the features is used."""


class Subgradient(Removable):
    """Training by the projected subgradient method, a fixed number of steps."""

    REPLACED = ("tol", "sparsest")
    solver: Literal["subgradient"]
    """The solver plug-in."""
    n_iter: Steps
    """Number of iterations."""
    normalisation: Literal["sum", "mean"] = "sum"
    """Whether the losses of a word are added up (sum) or averaged (mean)."""
    intercept: bool = False
    """True if each word learns an intercept."""
    eta0_unit: Literal["absolute", "relative"] = "absolute"
    """Unit of eta0; relative means radius / norm of the first gradient."""


class Method(Removable):
    """The grid of a loss and norm."""

    radius: Radii | Literal["auto"]
    """Radii to try; or auto, for certified fits along a path of radii chosen from the data."""
    eta0: Grid | None = None
    """First step sizes to try, for a solver that has one."""


class Svm(Removable):
    """The grid of scikit-learn's LinearSVC."""

    C: Grid
    """Values to try."""
    max_iter: Steps = 10_000
    """Largest number of iterations."""


Grids = Annotated[
    Annotated[Method, Tag("method")] | Annotated[Svm, Tag("svm")],
    Discriminator(
        lambda grid: "svm" if isinstance(grid, Svm) or (isinstance(grid, Mapping) and "C" in grid) else "method"
    ),
]


class Tests(Removable):
    """Settings of the sign tests and of the intervals of differences."""

    n_pairings: Steps
    """Number of random pairings of positives with negatives."""
    n_resamples: Annotated[int, Ge(20), Le(100_000)]
    """Number of resamples of the test images."""


class Study(Removable):
    """What all kinds of studies have."""

    TABLES: ClassVar[dict[str, str]]  # the tables that an experiment writes, and the folder of each
    kind: str
    """The kind of study."""
    figures: Figures
    """Figures to draw."""
    claims: Claims
    """Claims of the papers to judge."""


class WordStudy(Study):
    """A comparison of methods on tasks that are words of captions, class names or topics."""

    kind: Literal["words"]
    """The kind of study."""
    runs: Runs
    """Number of repetitions, with new training sets and validation words."""
    set_aside: Annotated[
        dict[Literal["train", "validation", "test"], Annotated[int, Ge(0), Le(100_000_000)]], NullRemoves
    ]
    """Number of images per split that this study treats as unlabelled."""
    vocabulary: str | None = None
    """The vocabulary whose histograms describe the pictures, if visual words do."""
    words: Words
    """Which words of the captions are tasks."""
    sizes: Counts | AutoSizes | Literal["auto"]
    """Numbers of positive training images per word; or auto, those of 10, 20, 40, … that half of the words reach."""
    negatives_per_positive: Count
    """Number of negative training images per positive image."""
    basis: Basis | None = None
    """The SVD basis; null to use the features without a basis."""
    similarities: Annotated[Similarities | RbfSimilarities, Field(discriminator="measure")] | None = None
    """Similarities to unlabelled images as features; null to use the features themselves."""
    training: Annotated[Certified | Subgradient, Field(discriminator="solver")]
    """How the methods named loss-norm are trained."""
    methods: Annotated[dict[str, Grids], MinLen(1), NullRemoves]
    """The methods, named loss-norm or svm-l2, with their grids. The first is compared with each of the others."""
    metric: Literal["auc", "eer"]
    """The measure that chooses the radius on the validation words."""
    selection: Literal["best", "one_standard_error"] = "best"
    """How the radius is chosen from its mean measure over the validation words.

    best: the best mean. one_standard_error: the smallest radius that is worse by at most one standard error over the
    words. Means that differ by less than 0.0001 count as equal."""
    at_size: Count | None = None
    """The size whose weights are saved and drawn. By default, the first size of at least 30."""
    tests: Tests
    """Settings of the sign tests and of the intervals of differences."""

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.basis and self.similarities:
            raise misplaced("a study may have a basis or similarities, not both: set one of them to null")
        if self.at_size and isinstance(self.sizes, list) and self.at_size not in self.sizes:
            raise misplaced(f"at_size must be {one_of(self.sizes, self.at_size)}, got {self.at_size}", "at_size")
        for name, grid in self.methods.items():
            for said, *at in _misfits(name, grid, self.training):
                raise misplaced(said, "methods", name, *at)
        return self

    @property
    def all_sizes(self) -> list[int]:
        """The sizes of the training sets, or all sizes that may be chosen from the data."""
        if isinstance(self.sizes, list):
            return self.sizes
        return [*AUTO_SIZES] if self.sizes == AUTO else [SMALLEST_SIZE, *AUTO_SIZES]

    @property
    def powers(self) -> list[float]:
        """The powers of the singular values that scale the features; empty without a basis."""
        power = self.basis.power if self.basis else []
        return power if isinstance(power, list) else [power]

    def idle(self) -> Iterator[tuple[str, str]]:
        """Yield the settings without effect, each with the change that would give it an effect."""
        paths = [name for name, grid in self.methods.items() if isinstance(grid, Method) and grid.radius == AUTO]
        if not any(name.endswith(f"-{norm}") for name in paths for norm in SPARSE_NORMS):
            norms = ", ".join(SPARSE_NORMS)
            yield "training.sparsest", f"it is for radius: {AUTO} with a norm that leaves features out ({norms})"
        if not self.words.split_captions and self.words.min_length != MIN_LENGTH:
            yield "words.min_length", "labels may have any length unless split_captions is true"


def _misfits(name: str, grid: Method | Svm, training: Certified | Subgradient) -> Iterator[tuple[str, ...]]:
    """Yield a sentence for each mistake in a method's name and grid, with the key that it is about."""
    loss, dash, norm = name.partition("-")
    if isinstance(grid, Svm) and name != SVM:
        yield f"C is for {SVM}, and other methods have the key radius", "C"
    if isinstance(grid, Svm):
        return
    if name == SVM:
        yield (f"the key 'C' is missing; {SVM} needs it",)
    if not dash:
        yield (f"a method must be named loss-norm or {SVM}, got {shown(name)}",)
    for what, given, known in (("loss", loss, LOSSES), ("norm", norm, NORMS)):
        if given not in known:
            yield (f"{what} must be {one_of(known, given)}, got {shown(given)}",)
    if grid.radius == AUTO and (isinstance(training, Subgradient) or training.tol is None):
        yield f"radius: {AUTO} needs tol and a solver that stops at a duality gap", "radius"
    if isinstance(training, Subgradient) and grid.eta0 is None:
        yield (f"the key 'eta0' is missing; the solver {training.solver} needs it",)
    if isinstance(training, Certified) and grid.eta0 is not None:
        user = f"radius: {AUTO}" if grid.radius == AUTO else f"the solver {training.solver}"
        yield f"eta0 is not used with {user}: remove it, or give a list of radii and solver: subgradient", "eta0"


class Repeated(Study):
    """What experiments have that are repeated with new draws."""

    runs: Runs
    """Number of repetitions, with new draws."""


class RecoveryTasks(Removable):
    """How tasks with known weights are drawn."""

    n_features: NumberOfFeatures = 200
    """Number of features."""
    n_tasks: NumberOfTasks = 60
    """Number of tasks."""
    relevant: Fraction = 0.1
    """Fraction of the features from which every task draws its support."""
    n_validation: Count = 200
    """Number of validation samples per task."""
    n_test: Count = 1000
    """Number of test samples per task."""


class Recovery(Repeated):
    """Recovers the features of tasks with known weights."""

    TABLES = {"recovery": "tables"}
    kind: Literal["recovery"]
    """The kind of study."""
    tasks: RecoveryTasks
    """How tasks are drawn."""
    sizes: Counts
    """Numbers of training samples per task."""
    weights: Annotated[list[Literal["normal", "uniform", "sign"]], MinLen(1), Distinct] = ["normal"]
    """Distributions of the true weights, combined with every support."""
    support: Annotated[list[Literal["random", "all"]], MinLen(1), Distinct] = ["random"]
    """Which relevant features a task uses: a random subset, or all."""
    eta0: Grid
    """First step sizes to try."""
    radius: Radii
    """Radii to try."""
    n_iter: Steps
    """Number of iterations."""
    tol: Fraction
    """Relative duality gap of the reference optimum."""


class Cost(Study):
    """Measures seconds of projections and of training."""

    TABLES = {"cost": "timings"}
    kind: Literal["cost"]
    """The kind of study."""
    projection_sizes: SeveralCounts
    """Numbers of rows of a matrix with 40 columns."""
    projection_rows: SeveralCounts
    """Numbers of non-zero rows among 100,000."""
    training_sizes: SeveralCounts
    """Numbers of training samples per task, for 40 tasks with 200 features."""
    program_tasks: SeveralCounts
    """Numbers of tasks with 50 features that are also learnt by a linear program."""
    repeats: Runs
    """Number of timings, of which the median is taken."""


class Operations(Repeated):
    """Counts the operations of projections onto the l1 ball."""

    TABLES = {"operations": "tables"}
    kind: Literal["operations"]
    """The kind of study."""
    sizes: SeveralCounts
    """Numbers of entries of a dense vector."""
    touched: SeveralCounts
    """Numbers of coordinates that a sparse update changes."""
    non_zeros: SeveralCounts
    """Numbers of non-zero entries of the vector that the sparse update changes."""


class Projection(Study):
    """Measures seconds of projections onto the l1 ball."""

    TABLES = {"projection": "timings"}
    kind: Literal["projection"]
    """The kind of study."""
    sizes: SeveralCounts
    """Numbers of entries of a dense vector."""
    touched: SeveralCounts
    """Numbers of coordinates that a sparse update changes."""
    non_zeros: SeveralCounts
    """Numbers of non-zero entries of the vector that the sparse update changes."""
    repeats: Runs
    """Number of timings, of which the median is taken."""


class Race(Repeated):
    """Compares methods on random problems with an l1 constraint."""

    TABLES = {"race": "tables", "race_seconds": "timings"}
    kind: Literal["race"]
    """The kind of study."""
    problems: Annotated[list[Literal["squared", "logistic"]], MinLen(1), Distinct]
    """Loss functions of the problems."""
    sizes: Annotated[list[Annotated[int, Ge(20), Le(1_000_000)]], MinLen(1), Distinct]
    """Numbers of features, which are also the numbers of samples."""
    penalty: InnerFraction
    """Penalty as a fraction of the smallest penalty whose solution is 0."""
    eta0: Grid
    """First step sizes to try."""
    n_iter: Steps
    """Number of iterations of the methods batch and line-search."""
    stochastic_n_iter: Steps = 2000
    """Number of iterations of the method stochastic."""


Form = Literal["batch 100%", "batch 25%", "stochastic 100", "stochastic 1"]


class Entropic(Repeated):
    """What comparisons of exponentiated and projected gradient have."""

    radius: Radii
    """Radii of the l1 ball."""
    eta0: Grid
    """First step sizes of the projected gradient."""
    entropic_eta0: Grid
    """First step sizes of the exponentiated gradient, tried with each schedule."""
    schedules: Annotated[list[Literal["constant", "1/sqrt(t)", "1/t"]], MinLen(1), Distinct]
    """Schedules to try for the step sizes of the exponentiated gradient."""


class EntropicByForm(Entropic):
    """What comparisons have that try several kinds of gradients."""

    n_iter: Annotated[dict[Form, Steps], MinLen(1), NullRemoves]
    """Number of steps for each kind of gradient to try."""
    n_records: Steps = 25
    """Number of records in each run."""
    repeats: Runs = 3
    """Number of timings of the best run, of which the median is taken."""


class Exponentiated(EntropicByForm):
    """Compares exponentiated gradient and projected gradient on a binary problem."""

    TABLES = {"exponentiated": "tables", "exponentiated_seconds": "timings"}
    kind: Literal["exponentiated"]
    """The kind of study."""
    label: Text | None = None
    """The label to learn; by default the most frequent one."""


class DigitsStudy(EntropicByForm):
    """Compares exponentiated gradient and projected gradient on a kernel classifier of several classes."""

    TABLES = {"digits": "tables", "digits_seconds": "timings"}
    kind: Literal["digits"]
    """The kind of study."""
    n_support: Count
    """Number of images in the support set."""
    n_train: Count
    """Number of training samples."""
    width: Number
    """Squared width of the kernel, in squared units of a feature."""


class Online(Entropic):
    """Learns in one pass over sparse samples."""

    TABLES = {"online": "tables", "online_seconds": "timings"}
    kind: Literal["online"]
    """The kind of study."""
    label: Text | None = None
    """The label to learn; by default the most frequent one."""
    n_examples: Count | None = None
    """Number of samples in a pass; all by default."""
    n_records: Steps = 20
    """Number of records in a pass."""


Experiment = Recovery | Cost | Operations | Projection | Race | Exponentiated | DigitsStudy | Online
AnyStudy = Annotated[WordStudy | Experiment, Field(discriminator="kind")]

EXPERIMENTS: dict[str, type[Study]] = {tags_of(study, "kind")[0]: study for study in get_args(Experiment)}
LOSSES, NORMS, SOLVERS = get_args(Loss), get_args(Norm), tags_of(Certified, "solver") + tags_of(Subgradient, "solver")
