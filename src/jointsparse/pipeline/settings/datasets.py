"""Datasets: a class of settings for each loader."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import Field, model_validator

from jointsparse.pipeline.settings.features import Features, Network, VisualWords
from jointsparse.pipeline.settings.studies import (
    NORMS,
    SPARSE_NORMS,
    SVM,
    AnyStudy,
    Cost,
    DigitsStudy,
    Exponentiated,
    Online,
    Operations,
    Projection,
    Race,
    Recovery,
    Study,
    WordStudy,
)
from jointsparse.pipeline.settings.values import (
    AUTO,
    AsGiven,
    Block,
    Count,
    Distinct,
    File,
    Files,
    Fractions,
    InnerFraction,
    Name,
    Norm,
    NumberOfFeatures,
    NumberOfTasks,
    Runs,
    Seed,
    Share,
    Split,
    Text,
    Texts,
    WithDifferentValues,
    joined,
    misplaced,
    one_of,
    shown,
    tags_of,
)


class Options(Block):
    """Options of a loader.

    ``ONLY_WITH`` maps an option to another option without which it has no effect, and ``ONLY_WITHOUT`` maps an option
    to another option that disables it. ``PIXELS`` lists the options of a loader of pictures that decide what a picture
    with a given name looks like.
    """

    PIXELS: ClassVar[tuple[str, ...]] = ()

    ONLY_WITH: ClassVar[dict[str, str]] = {}
    ONLY_WITHOUT: ClassVar[dict[str, str]] = {}

    @model_validator(mode="after")
    def _have_an_effect(self) -> Self:
        given = {key for key in self.model_fields_set if getattr(self, key) is not None}
        for option, other in self.ONLY_WITH.items():
            if option in given and other not in given:
                raise misplaced(f"{option} has no effect without {other}: give both or neither", option)
        for option, other in self.ONLY_WITHOUT.items():
            if {option, other} <= given:
                raise misplaced(f"{option} has no effect beside {other}: remove one of them", option)
        return self


class Drawn(Options):
    """Options of data that are drawn or composed at run time."""

    fractions: Fractions = {"train": 0.6, "validation": 0.2, "test": 0.2}
    """Fraction of the samples in each split."""
    seed: Seed = 0
    """Seed of the samples and of the split."""


class CollageOptions(Drawn):
    """Options of the loader `collage`."""

    PIXELS = ("seed",)

    n_images: Count = 1800
    """Number of images to compose."""


class DocumentsOptions(Drawn):
    """Options of the loader `documents`."""

    n_documents: Count = 6000
    """Number of documents to draw."""
    n_features: NumberOfFeatures = 20_000
    """Size of the vocabulary in words."""
    n_topics: NumberOfTasks = 40
    """Number of topics."""
    n_telling: NumberOfFeatures = 100
    """Number of informative words in the pool that the topics share."""
    length: Annotated[float, Gt(0), Le(100_000), AsGiven] = 200
    """Mean number of words in a document."""
    telling: Share = 0.15
    """Probability that a word comes from the topics of its document."""
    noise: Share = 0.05
    """Probability that a word comes from the pool, whatever the topics."""


class DrawnSplits(Options):
    """Options of loaders that draw the splits that the data do not give."""

    fractions: Fractions = {"train": 0.6, "validation": 0.2, "test": 0.2}
    """Fraction of the samples in each split, if the data give no splits."""
    validation_fraction: InnerFraction = 0.2
    """Fraction of the training samples to use for validation, if the data give other splits but not this one."""
    seed: Seed = 0
    """Seed of the split."""


class NamedSplits(DrawnSplits):
    """Options of loaders that read the name of the split of each sample."""

    split_names: Annotated[dict[Split, str], WithDifferentValues] = {
        "train": "train",
        "validation": "validation",
        "test": "test",
        "unlabelled": "unlabelled",
    }
    """For each split, its name in the table of splits or in the column of splits."""


class FolderOptions(NamedSplits):
    """Options of loaders that read a folder of photographs."""

    PIXELS = ("root", "images")

    root: File
    """The folder of the dataset's files."""
    images: File = "images"
    """Folder of the pictures in root, or . for root itself."""
    splits: File | None = None
    """Table in root with the columns image and split."""
    one_per_stem: bool = False
    """True if files that differ only in their suffix are one photograph."""
    group_by: Literal["folder", "burst"] | None = None
    """Which photographs no split divides: those of a folder, or of a burst."""
    near_duplicates: bool = False
    """True if no split divides photographs that are the same but for scale, compression or a cropped margin."""


class PhotosOptions(FolderOptions):
    """Options of the loader `photos`."""

    ONLY_WITHOUT: ClassVar[dict[str, str]] = {"group_by": "group", "split": "splits"}

    captions: Files = "captions.csv"
    """File of captions in root, or several files; *.txt: a file beside each picture."""
    pictures: Text = "image"
    """Column of captions with the names of the pictures."""
    caption: Text = "caption"
    """Column of captions."""
    split: Text | None = None
    """Column of captions with the splits of the pictures."""
    group: Text | None = None
    """Column of captions with the groups of pictures that no split divides."""


class ScenesOptions(FolderOptions):
    """Options of the loader `scenes`."""

    split_folders: bool = False
    """True if the folders of classes are in folders named after splits."""


class KeywordsOptions(FolderOptions):
    """Options of the loader `keywords`."""

    levels: Literal["all", "last"] = "all"
    """Levels of a hierarchical tag that are tags."""


class MeaningOptions(Options):
    """How a table states which labels are there, which are known not to be there, and which are unknown."""

    ONLY_WITH = dict.fromkeys(("separator", "none", "not_tags", "confidence"), "tags")
    ONLY_WITHOUT = dict.fromkeys(("columns", "positive", "negative"), "tags")

    columns: Texts = ["*"]
    """Label columns, by name or pattern."""
    tags: Text | None = None
    """Column with the tags of each sample, instead of label columns."""
    separator: str = ";"
    """String between two tags; empty if a cell is one tag."""
    positive: Texts = ["1", "true"]
    """Values of label columns that mean yes."""
    negative: Texts = ["0", "false"]
    """Values of label columns that mean no."""
    none: Texts = []
    """Tags that mean that a sample has no label."""
    unknown: Texts = []
    """Values of label columns, or tags, that mean that labels are unknown."""
    not_tags: Text | None = None
    """Column of labels that samples are known not to have."""
    confidence: Text | None = None
    """Column with 1 in rows whose tags are there and 0 in others."""
    unmentioned: Literal["negative", "unknown"] = "negative"
    """Meaning of a label that the table does not mention."""


class TaggedOptions(FolderOptions, MeaningOptions):
    """Options of the loader `tagged`."""

    ONLY_WITHOUT = MeaningOptions.ONLY_WITHOUT | {"group_by": "group", "split": "splits"}

    labels: Files
    """File in root with the labels, or several files; *.txt: a file beside each picture."""
    pictures: Text = "image"
    """Column of labels with the names of the pictures."""
    split: Text | None = None
    """Column of labels with the splits of the pictures."""
    group: Text | None = None
    """Column of labels with the groups of pictures that no split divides."""


class FilesOptions(Options):
    """Options of loaders that read features and labels from files. ``FILES`` lists the options that name files."""

    FILES: ClassVar[tuple[str, ...]]
    root: File
    """The folder of the dataset's files."""


class ArraysOptions(FilesOptions, NamedSplits, MeaningOptions):
    """Options of the loader `arrays`."""

    FILES = ("features", "labels", "names")
    ONLY_WITH = MeaningOptions.ONLY_WITH | {"split_names": "split"}
    ONLY_WITHOUT = MeaningOptions.ONLY_WITHOUT | {"fractions": "split"}

    features: Files
    """File in root with a row per sample: .npy, .npz, .parquet or .csv; or several files."""
    labels: Files
    """File in root with the labels of each row: .csv, .parquet or .npy; or several files."""
    names: File | None = None
    """File in root with the names of the features."""
    index: Text | None = None
    """Column of labels that names the samples."""
    split: Text | None = None
    """Column of labels with the splits of the samples."""
    group: Text | None = None
    """Column of labels, or of features, with the groups of samples that no split divides."""
    pictures: Text | None = None
    """Column of labels with the paths of pictures, relative to root."""
    text: Text | None = None
    """Column of labels with a text for each sample."""
    ignore: Annotated[list[Text], Distinct] = []
    """Columns in the files of features or labels that are neither features nor labels."""


class LibsvmOptions(FilesOptions, DrawnSplits):
    """Options of the loader `libsvm`."""

    FILES = ("train", "validation", "test", "topics", "vocabulary")
    ONLY_WITH = {"validation": "test", "validation_fraction": "test"}
    ONLY_WITHOUT = {"fractions": "test", "validation_fraction": "validation", "seed": "validation"}

    train: File
    """File in root with the training samples."""
    validation: File | None = None
    """File in root with the validation samples."""
    test: File | None = None
    """File in root with the test samples."""
    topics: File | None = None
    """File in root with the numbers and names of the labels."""
    vocabulary: File | None = None
    """File in root with the names of the features."""
    index_base: Annotated[int, Ge(0), Le(1)] = 1
    """Index of the first feature."""


class IdxOptions(FilesOptions):
    """Options of the loader `idx`."""

    FILES = ("train_images", "train_labels", "test_images", "test_labels")
    ONLY_WITH = {"seed": "validation_fraction"}

    train_images: File
    """File in root with the training images."""
    train_labels: File
    """File in root with the labels of these images."""
    test_images: File
    """File in root with the test images."""
    test_labels: File
    """File in root with the labels of these images."""
    validation_fraction: Annotated[float, Ge(0), Lt(1), AsGiven] = 0.0
    """Fraction of the training images to use for validation."""
    seed: Seed = 0
    """Seed of the split."""


class DigitsOptions(Drawn):
    """Options of the loader `digits`."""


class NoOptions(Options):
    """A loader without options."""


class Final(Block):
    """A final fit on all training and validation samples, saved as model.jointsparse.

    Without the key `study`, the block may override values of the study named by `like`. The fit uses the words,
    features and basis of the study. Its training, methods and runs have an effect only with `compare`.
    """

    study: str
    """The study whose words, features and basis the fit uses; it must have no similarities."""
    norm: Literal["auto"] | Norm | Annotated[list[Norm], MinLen(1), Distinct] = "auto"
    """The norm; or a list, of which the first is saved; or auto, to choose by cross-validation."""
    stability: Runs | None = None
    """Number of pairs of random halves on which the features of the saved model are selected again."""
    settings: AnyStudy | None = None
    """The block of the study, if the study is not run and only gives the fits their settings."""

    @property
    def norms(self) -> list[str]:
        """The norms of the fits. The first fit is saved, unless cross-validation chooses the fit that is saved."""
        if self.norm == AUTO:
            return [*NORMS]
        return [*self.norm] if isinstance(self.norm, list) else [self.norm]


class Dataset(Block):
    """What all datasets have."""

    STUDIES: ClassVar[tuple[type[Study], ...]]  # kinds of studies that can be run on the dataset
    OWN_STUDY: ClassVar[str]  # the study from which final fits on a user's own data take their settings
    loader: str
    """The plug-in that reads the dataset."""
    options: Options
    """Options of the loader."""
    note: str = ""
    """A note on the data that is printed beside the verdicts."""
    beside_paper: bool = False
    """True if figures show the papers' numbers beside the numbers of this dataset."""
    demonstration: bool = False
    """True for drawn or composed data, on which accuracy is no evidence for a claim."""
    studies: dict[Name, AnyStudy] = {}
    """The studies of this dataset, each with the values that the dataset overrides."""

    @property
    def blocks(self) -> Mapping[str, Study]:
        """All studies, with the one whose block only gives the final fits their settings, if there is one."""
        return self.studies

    @model_validator(mode="after")
    def _serve_the_studies(self) -> Self:
        for name, study in self.blocks.items():
            if not isinstance(study, self.STUDIES):
                kinds = joined(kind for served in self.STUDIES for kind in tags_of(served, "kind"))
                said = f"kind must be {kinds} for the loader {self.loader}, got {shown(study.kind)}"
                raise misplaced(said, *self.place(name))
        return self

    def place(self, study: str) -> tuple[str, ...]:
        """Return the place of a study's block in the dataset's entry."""
        return ("studies", study) if study in self.studies else ("final",)


class Learnable(Dataset):
    """What datasets with samples have."""

    STUDIES: ClassVar[tuple[type[Study], ...]] = (WordStudy,)

    corrections: File | None = None
    """Table with the columns sample, tag and has (yes or no), whose decisions override the labels that were read."""
    most_samples: Count | None = None
    """Number of images or samples to draw, with every split in proportion; all are used by default."""
    final: Final | None = None
    """The final fit; by default, a dataset without studies has one."""

    @property
    def blocks(self) -> Mapping[str, Study]:
        only = {self.final.study: self.final.settings} if self.final and self.final.settings else {}
        return {**only, **self.studies}

    @model_validator(mode="after")
    def _learn(self) -> Self:
        if not self.final:
            return self
        study, key = self.final.study, "like" if self.final.settings else "study"
        able = [name for name, block in self.blocks.items() if isinstance(block, WordStudy) and not block.similarities]
        if study not in able and key == "like":
            raise misplaced(f"like must be a study of words without similarities, got {shown(study)}", "final", key)
        if study not in able:
            known = one_of(able, study) if able else "one of the dataset's studies of words, and there are none"
            advice = f"write like: {study} to take only its settings"
            raise misplaced(f"study must be {known}, got {shown(study)}: {advice}", "final", key)
        norm = self.final.norms[0]
        if self.final.stability and self.final.norm != AUTO and norm not in SPARSE_NORMS:
            said = f"stability has no effect with the norm {norm}, which uses all features"
            raise misplaced(f"{said}: save a model with another norm", "final", "stability")
        return self

    def idle(self) -> Iterator[tuple[str, str]]:
        """Yield the settings without effect, each with the change that would give it an effect."""
        for name, block in self.blocks.items():
            if not isinstance(block, WordStudy):
                continue
            place, one = ".".join(self.place(name)), "it compares methods, and this study has only one"
            yield from ((f"{place}.{path}", advice) for path, advice in block.idle())
            if [*block.methods] == [SVM]:
                yield f"{place}.training", f"it is for methods named loss-norm, and this study has only {SVM}"
            if len(block.methods) == 1:
                yield f"{place}.tests.n_pairings", one
            if len(block.methods) == 1 and not (self.final and self.final.study == name):  # a final fit resamples, too
                yield f"{place}.tests.n_resamples", one


class Pictures(Learnable):
    """What datasets of pictures have."""

    OWN_STUDY = "own-words"
    features: Features
    """How pictures become features: values of the block `features` that the dataset overrides."""
    shards: Annotated[int, Ge(1), Le(10_000)] | Literal["auto"] = "auto"
    """Number of parts into which pictures are divided, with one job per part."""

    @model_validator(mode="after")
    def _have_their_vocabulary(self) -> Self:
        if isinstance(self.features, VisualWords):
            for name, block in self.blocks.items():
                require_vocabulary(block, self.features.vocabularies, *self.place(name))
        return self

    def idle(self) -> Iterator[tuple[str, str]]:
        yield from super().idle()
        used = {block.vocabulary for block in self.blocks.values() if isinstance(block, WordStudy)}
        for name in self.features.vocabularies if isinstance(self.features, VisualWords) else ():
            if name not in used:
                yield f"features.vocabularies.{name}", f"no study of this dataset has vocabulary: {name}"
        for name in self.blocks if isinstance(self.features, Network) else ():
            advice = f"it is for visual words, and the extractor {self.features.extractor} has none"
            yield ".".join((*self.place(name), "vocabulary")), advice


def require_vocabulary(study: Study, known: Iterable[str], *place: str) -> None:
    if not isinstance(study, WordStudy):
        return
    if study.vocabulary is None:
        raise misplaced("the key 'vocabulary' is missing; studies of pictures need it", *place)
    if study.vocabulary not in known:
        said = f"vocabulary must be {one_of(known, study.vocabulary)}, got {shown(study.vocabulary)}"
        raise misplaced(said, *place, "vocabulary")


class Samples(Learnable):
    """What datasets have that come as features with labels."""

    STUDIES = (WordStudy, Exponentiated, DigitsStudy, Online)
    OWN_STUDY = "own-labels"

    @model_validator(mode="after")
    def _have_no_vocabulary(self) -> Self:
        for name, block in self.blocks.items():
            if isinstance(block, WordStudy) and block.vocabulary is not None:
                said = f"vocabulary is for datasets of pictures, got {shown(block.vocabulary)}: set it to null"
                raise misplaced(said, *self.place(name), "vocabulary")
        return self


class Tasks(Dataset):
    """What datasets have whose studies draw their own tasks."""

    STUDIES = (Recovery, Cost, Operations, Projection, Race)
    studies: Annotated[dict[Name, AnyStudy], MinLen(1)]
    """The studies of this dataset, each with the values that the dataset overrides."""


class Collage(Pictures):
    """Pictures that are composed at run time from pictures that come with installed packages."""

    loader: Literal["collage"]
    """The plug-in that reads the dataset."""
    options: CollageOptions = CollageOptions()
    """Options of the loader."""


class Photos(Pictures):
    """A folder of photographs with captions."""

    loader: Literal["photos"]
    """The plug-in that reads the dataset."""
    options: PhotosOptions
    """Options of the loader."""


class Scenes(Pictures):
    """A folder of photographs for each class."""

    OWN_STUDY = "own-classes"
    loader: Literal["scenes"]
    """The plug-in that reads the dataset."""
    options: ScenesOptions
    """Options of the loader."""


class Tagged(Pictures):
    """A folder of photographs with a table of their tags."""

    OWN_STUDY = "own-classes"
    loader: Literal["tagged"]
    """The plug-in that reads the dataset."""
    options: TaggedOptions
    """Options of the loader."""


class Keywords(Pictures):
    """A folder of photographs that carry their tags themselves."""

    OWN_STUDY = "own-classes"
    loader: Literal["keywords"]
    """The plug-in that reads the dataset."""
    options: KeywordsOptions
    """Options of the loader."""


class Arrays(Samples):
    """Tables or arrays of features and labels."""

    loader: Literal["arrays"]
    """The plug-in that reads the dataset."""
    options: ArraysOptions
    """Options of the loader."""


class Libsvm(Samples):
    """Files in the format of LIBSVM."""

    loader: Literal["libsvm"]
    """The plug-in that reads the dataset."""
    options: LibsvmOptions
    """Options of the loader."""


class Idx(Samples):
    """Files in the format of MNIST."""

    loader: Literal["idx"]
    """The plug-in that reads the dataset."""
    options: IdxOptions
    """Options of the loader."""


class Documents(Samples):
    """Documents that are drawn at run time."""

    loader: Literal["documents"]
    """The plug-in that reads the dataset."""
    options: DocumentsOptions = DocumentsOptions()
    """Options of the loader."""


class Digits(Samples):
    """Small pictures of digits that come with scikit-learn."""

    loader: Literal["digits"]
    """The plug-in that reads the dataset."""
    options: DigitsOptions = DigitsOptions()
    """Options of the loader."""


class Synthetic(Tasks):
    """Tasks that are drawn with known weights."""

    loader: Literal["synthetic"]
    """The plug-in that reads the dataset."""
    options: NoOptions = NoOptions()
    """Options of the loader."""


AnyPictures = Collage | Photos | Scenes | Tagged | Keywords
AnySamples = Arrays | Libsvm | Idx | Documents | Digits
AnyDataset = Annotated[AnyPictures | AnySamples | Synthetic, Field(discriminator="loader")]


LOADERS: dict[str, type[Dataset]] = {
    tags_of(dataset, "loader")[0]: dataset for dataset in get_args(AnyPictures | AnySamples | Synthetic)
}


def options_of(loader: str) -> list[str]:
    """Return the names of the options of a loader."""
    options: Any = LOADERS[loader].model_fields["options"].annotation
    return list(options.model_fields)
