"""The version of jointsparse, and estimators whose pickles record it."""

import sys
from typing import Any

from jointsparse.messages import warn_user


def version() -> str:
    """Return the version of jointsparse that is in use."""
    return sys.modules["jointsparse"].__version__


class Versioned:
    """Mixin for estimators whose pickles record the version of jointsparse. Loading them with another version warns."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return state | {"_jointsparse_version": version()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        wrote = state.pop("_jointsparse_version")
        if wrote != version():
            warn_user(
                f"{type(self).__name__} was written by jointsparse {wrote} and is read by {version()}: "
                "predictions may differ"
            )
        super().__setstate__(state)  # type: ignore[misc]
