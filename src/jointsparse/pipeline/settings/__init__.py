"""The settings of a run: config.yaml as documented types.

Each block of config.yaml is a class and each key a field, whose docstring says what it sets. Blocks that depend on a
name, such as the options of a loader or the training of a solver, have a class for each name. So a key that is meant
for another name is an unknown key. `written_out` first writes out everything that datasets and studies inherit; `read`
then checks all values, and reports a mistake in one line.

This module imports nothing that takes long to import. The options of a plug-in stand here and not in its file, so that
the rest of the package works without pydantic. Their defaults are those of the functions that take them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from jointsparse.pipeline.settings.config import Config
from jointsparse.pipeline.settings.datasets import Learnable
from jointsparse.pipeline.settings.inheritance import written_out
from jointsparse.pipeline.settings.messages import explained
from jointsparse.pipeline.settings.studies import WordStudy
from jointsparse.pipeline.settings.values import SettingError, shown

__all__ = ["Config", "SettingError", "read"]


def read(config: Any) -> Config:
    """Return the checked settings. config: the content of config.yaml, a block of keys.

    Raises SettingError for the first mistake: a line that says what was expected, what was given, and where.
    """
    _refuse_markup(config, "")
    full = written_out(config)
    try:
        settings = Config.model_validate(full)
    except ValidationError as error:
        raise explained(error, full) from None
    for name, study in settings.studies.items():
        if isinstance(study, WordStudy):
            _refuse_idle(config["studies"][name], study.idle(), f"studies.{name}")
    for name, dataset in settings.datasets.items():
        if isinstance(dataset, Learnable):
            _refuse_idle(config["datasets"][name], dataset.idle(), f"datasets.{name}")
    return settings


def _refuse_markup(value: Any, where: str) -> None:
    """Refuse text that would end a script in Snakemake's report, which copies settings into its page unescaped."""
    if isinstance(value, Mapping):
        for key, inside in value.items():
            _refuse_markup(key, where)
            _refuse_markup(inside, f"{where}.{key}")
    elif isinstance(value, list):
        for i, inside in enumerate(value):
            _refuse_markup(inside, f"{where}[{i}]")
    elif isinstance(value, str) and ("</" in value or "<!" in value):
        key = where.rpartition(".")[2] or "a key"
        said = "must be free of </ and <!, which would end a script in the report"
        raise SettingError(f"{key} {said}, got {shown(value)}", where)


def _refuse_idle(own: Mapping[str, Any], idle: Iterable[tuple[str, str]], where: str) -> None:
    """Refuse settings without effect that a block itself contains. Inherited settings are accepted."""
    for path, advice in idle:
        value: Any = own
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            raise SettingError(f"{path.rpartition('.')[2]} has no effect here: {advice}", f"{where}.{path}")
