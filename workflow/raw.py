"""The raw files of datasets: which they are, the digests of their contents, and the number of parts of a folder."""

import json
import math
import os
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import TypeVar

from jointsparse.pipeline.datasets.names import Files, files_of
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.settings import SettingError
from jointsparse.pipeline.settings.datasets import (
    Collage,
    Dataset,
    FilesOptions,
    FolderOptions,
    Learnable,
    PhotosOptions,
    Pictures,
    TaggedOptions,
)
from jointsparse.pipeline.settings.features import Network

MOST_OF_SHARD = 2000  # most pictures in a shard, if the number of shards is chosen automatically
VARIABLE = "JOINTSPARSE_FOUND"
T = TypeVar("T")


def raw_files(name: str, dataset: Dataset) -> list[str]:
    """Return the files from which a dataset is read, and the folder of its pictures; none if it is drawn.

    Optional files are listed even if they do not exist, so that a new file is noticed. Raises SettingError if another
    file does not exist.
    """
    options, where = dataset.options, f"datasets.{name}.options.root"
    if not isinstance(options, FolderOptions | FilesOptions):
        return []
    root = Path(options.root)
    if isinstance(options, FolderOptions):
        captions = [file for _, file in files_of(_captions(options)) if not file.startswith("*.")]
        pictures = root / options.images
        files = [options.images, *captions, *filter(None, [options.splits])]
        required = {f"a folder {options.images!r}": os.path.isdir(pictures)}
        said = f"results must not be written into the folder of the pictures, {pictures}: run in another folder"
        _require(not Path.cwd().is_relative_to(os.path.realpath(pictures)), said, where)
    else:
        given = [getattr(options, key) for key in options.FILES]
        files = [file for option in given if option is not None for _, file in files_of(option)]
        required = {repr(file): os.path.isfile(root / file) for file in files}  # Path.is_file raises for long names
    for file, is_there in required.items():
        said = f"root must be a folder with {file}, got {str(root)!r}: put the data there, link it, or change root"
        _require(is_there, said, where)
    return [str(root / file) for file in files]


def require_network(name: str, dataset: Pictures) -> None:
    """Raise SettingError if a file of the network that describes a dataset's pictures does not exist."""
    if isinstance(dataset.features, Network):
        from jointsparse.features import network_files  # imported here because it loads Numba

        try:
            network_files.files_of(dataset.features.options.model)
        except ValueError as error:
            raise SettingError(str(error), f"datasets.{name}.features.options") from None


def require_corrections(name: str, dataset: Learnable) -> None:
    """Raise SettingError if the file with the decisions about a dataset's labels does not exist."""
    file = dataset.corrections
    said = f"corrections must be a file with decisions about labels, got {file!r}, which is not there"
    _require(
        file is None or os.path.isfile(file), f"{said}: put it there, or remove the key", f"datasets.{name}.corrections"
    )


def _captions(options: FolderOptions) -> Files:
    """Return the files of captions or tags of a folder of photographs; none if its folders or files name the labels."""
    if isinstance(options, PhotosOptions):
        return options.captions
    return options.labels if isinstance(options, TaggedOptions) else []


def _require(holds: object, said: str, where: str) -> None:
    if not holds:
        raise SettingError(said, where)


class Found:
    """What the user's process finds out about raw files, and hands over to the processes of its jobs.

    Snakemake reads the rules again in the process of every job, and checksums of large files take minutes. The user's
    process stores what it finds in an environment variable, which the processes of its jobs inherit. A job that does
    not inherit a value finds it.

    Parameters
    ----------
    fresh : bool
        True in the user's process, which must not reuse values of an earlier run.
    environment : mapping
        The environment variables that the processes of jobs inherit.
    """

    def __init__(self, *, fresh: bool, environment: MutableMapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._values = {} if fresh else json.loads(environment.get(VARIABLE, "{}"))

    def _value(self, name: str, find: Callable[[], T]) -> T:
        if name not in self._values:
            self._values[name] = find()
            self._environment[VARIABLE] = json.dumps(self._values)
        value: T = self._values[name]
        return value

    def digest(self, name: str, paths: list[str], cache: str) -> str:
        """Return a digest of the contents of a dataset's raw files; see `records.checksums`. cache: a file."""

        def find() -> str:
            return records.digest(records.checksums(paths, cache, records.LARGEST_RAW))

        try:
            return self._value(f"raw {name}", find)
        except OSError as error:
            raise SystemExit(f"error: the files of the dataset {name} cannot be read: {error}") from error

    def network(self, file: str, cache: str) -> str:
        """Return the digest of a network and of all files that it names. cache: a file."""

        def find() -> str:
            from jointsparse.features import network_files  # imported here because it loads Numba

            return network_files.combined(records.checksums(network_files.files_of(file), cache))

        return self._value(f"network {file}", find)

    def shards(self, name: str, dataset: Pictures) -> int:
        """Return the number of shards of a dataset; for `auto`, it is a power of two and rarely changes."""
        if not isinstance(dataset.shards, str):
            return dataset.shards

        def find() -> int:
            folders = raw_files(name, dataset)[:1]
            n = sum(1 for folder in folders for _ in records.files_below(folder))
            n = n or (dataset.options.n_images if isinstance(dataset, Collage) else 1)
            return int(2 ** max(math.ceil(math.log2(n / MOST_OF_SHARD)), 0))

        return self._value(f"shards {name}", find)
