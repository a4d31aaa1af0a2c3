"""Types of values in config.yaml, and the class of all blocks."""

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

AUTO = "auto"  # the value of radius, sizes, rank or a number of words that is chosen from the data
TAGS = ("loader", "extractor", "kind", "measure", "solver")  # keys on which the other keys of their block depend
# Most characters of a list of names, of a value, of a sentence and of a place in a message.
LONGEST_LIST, LONGEST_VALUE, LONGEST_SENTENCE, LONGEST_PLACE = 450, 80, 600, 200
# Names that datasets and studies must not have, because results/ or the folder of a dataset has folders of these names.
TAKEN = {"claims", "corrected", "descriptors", "embeddings", "final", "histograms", "logs", "records", "timings"}

T = TypeVar("T")


class SettingError(ValueError):
    """A value in config.yaml that must be changed: a sentence and the place of the value, in one line."""

    def __init__(self, said: str, where: str) -> None:
        place = _cut(where.lstrip("."), LONGEST_PLACE) or "top level"
        line = f"{_cut(said, LONGEST_SENTENCE)} (config.yaml: {place})"
        super().__init__("".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in line))


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"


def shown(value: object) -> str:
    """Return a value as messages show it."""
    return "nothing" if value is None else _cut(repr(value), LONGEST_VALUE)


class Block(BaseModel):
    """A block of config.yaml: unknown keys are refused, values are not converted, and nothing changes after reading."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        defer_build=True,
        protected_namespaces=(),
    )

    def given(self, *, without: Collection[str] = ()) -> dict[str, Any]:
        """Return the values that were given, without the defaults and without the keys in `without`."""
        return self.model_dump(exclude_unset=True, exclude=set(without), warnings=False)

    def values(self, *keys: str) -> dict[str, Any]:
        """Return all values, also the defaults; or only those of some keys."""
        return self.model_dump(include=set(keys) or None, warnings=False)  # no warnings about integers, see `AsGiven`


class Removable(Block):
    """A block in which null removes a value: an inherited one, or one that an overlay takes out of the block.

    ``REPLACED`` lists keys that only the block of another solver or measure has. An overlay that names this solver or
    measure takes them out.
    """

    REPLACED: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, values: Any) -> Any:
        return _without_none(values, (*cls.model_fields, *cls.REPLACED))


def _without_none(values: Any, known: Container[object] | None = None) -> Any:
    """Return a block without its keys whose value is null. known: the keys that may be removed; all by default."""
    if not isinstance(values, Mapping):
        return values
    return {
        key: value for key, value in values.items() if value is not None or (known is not None and key not in known)
    }


# Values


def misplaced(said: str, *at: str) -> PydanticCustomError:
    """Return an error with a whole sentence. at: the path of the key, inside the block whose validator raises it."""
    return PydanticCustomError("sentence", "{said}", {"said": said, "at": at})


def expected(what: str) -> PydanticCustomError:
    return PydanticCustomError("expected", "{what}", {"what": what})


def _without_duplicates(values: list[T]) -> list[T]:
    if any(value in values[:i] for i, value in enumerate(values)):
        raise expected("a list without duplicates")
    return values


def _with_different_values(block: dict[str, T]) -> dict[str, T]:
    if len({*block.values()}) < len(block):
        raise expected("a block whose values differ")
    return block


def _as_given(value: Any, check: Callable[[Any], float]) -> Any:
    """Check a number, but keep 1024 an integer, which tables then show as it was given."""
    check(value)
    return value


def _without_braces(text: str) -> str:
    if set("{}") & set(text):
        raise expected("free of braces, which Snakemake reads as wildcards (rename the file or link to it)")
    return text


def _adding_up(fractions: dict[str, float]) -> dict[str, float]:
    if abs(sum(fractions.values()) - 1) > 1e-9:
        raise expected("numbers that add up to 1")
    return fractions


def _as_folders(blocks: dict[str, T]) -> dict[str, T]:
    """Refuse two names that would share a results folder on a file system that ignores case."""
    folders = [name.casefold() for name in (*blocks, *TAKEN)]
    for name in reversed(blocks):
        if folders.count(name.casefold()) > 1:
            said = f"{shown(name)} is already the name of a results folder, apart from upper and lower case"
            raise misplaced(f"{said}: choose another name", name)
    return blocks


# Maxima are larger than any feasible run. Those of seeds and features are the limits of scikit-learn and SciPy.
Seed = Annotated[int, Ge(0), Le(2**32 - 1)]
Runs = Annotated[int, Ge(1), Le(1000)]
Steps = Annotated[int, Ge(1), Le(1_000_000)]
Count = Annotated[int, Ge(1), Le(100_000_000)]
NumberOfFeatures = Annotated[int, Ge(1), Le(2**31 - 1)]
NumberOfTasks = Annotated[int, Ge(1), Le(100_000)]
Pixels = Annotated[int, Ge(1), Le(100_000)]
AsGiven = WrapValidator(_as_given)
Number = Annotated[float, Gt(0), Le(1e15), AsGiven]
Radius = Annotated[float, Ge(0), Le(1e15), AsGiven]
Power = Annotated[float, Ge(0), Le(10), AsGiven]
Fraction = Annotated[float, Gt(0), Le(1), AsGiven]
Share = Annotated[float, Ge(0), Le(1), AsGiven]
InnerFraction = Annotated[float, Gt(0), Lt(1), AsGiven]
Colour = Annotated[list[Annotated[float, Ge(-100_000), Le(100_000), AsGiven]], Field(min_length=3, max_length=3)]
Text = Annotated[str, MinLen(1)]
File = Annotated[str, MinLen(1), AfterValidator(_without_braces)]
Name = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9_-]{1,100}$")]
Folders = AfterValidator(_as_folders)
Distinct = AfterValidator(_without_duplicates)
WithDifferentValues = AfterValidator(_with_different_values)
Texts = Annotated[list[str], Distinct]
NullRemoves = BeforeValidator(_without_none)  # in a block whose keys are names
Split = Literal["train", "validation", "test", "unlabelled"]
FittedOn = Annotated[list[Literal["train", "validation", "unlabelled"]], MinLen(1), Distinct]
Files = (
    File | Annotated[list[File], MinLen(1)] | Annotated[dict[Split, File | Annotated[list[File], MinLen(1)]], MinLen(1)]
)
Fractions = Annotated[dict[Split, Share], AfterValidator(_adding_up)]
Radii = Annotated[list[Radius], MinLen(1), Distinct]
Grid = Annotated[list[Number], MinLen(1), Distinct]
Counts = Annotated[list[Count], MinLen(1), Distinct]
SeveralCounts = Annotated[list[Count], MinLen(2), Distinct]
Figures = Annotated[list[str], Distinct]
Claims = Annotated[list[str], Distinct]
Norm = Literal["l1", "l12", "l1inf", "l2"]
Loss = Literal["hinge", "logistic", "squared"]


def one_of(known: Iterable[Any], got: Any) -> str:
    """Return a list of the known names for a message, or only the names most similar to `got` if there are many."""
    names = list(map(str, known))
    if not names:
        return "a known name, and none is known here"
    if len(listed := ", ".join(names)) <= LONGEST_LIST:
        return f"one of {listed}"
    similar = get_close_matches(str(got)[:80], names, n=5, cutoff=0)
    return f"one of {len(names)} names, of which the most similar are {', '.join(similar)}"


def joined(names: Iterable[str]) -> str:
    """Return names as a sentence lists them: "a, b or c"."""
    *others, last = dict.fromkeys(names)
    return f"{', '.join(others)} or {last}" if others else last


def tags_of(block: Any, tag: str) -> tuple[str, ...]:
    """Return the names for which a class of blocks stands: ("pdhg",) for the tag "solver", for example."""
    return get_args(block.model_fields[tag].annotation) if tag in block.model_fields else ()
