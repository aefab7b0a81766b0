"""The hint behind an unknown name: "did you mean X?"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(name: str, names: Iterable[str]) -> str | None:
    """Return the known name that is spelled most like `name`, or None if none is similar."""
    return next(iter(difflib.get_close_matches(name, list(names), n=1)), None)


def did_you_mean(name: str, names: Iterable[str], otherwise: str | None = None) -> str:
    """Return a hint for an unknown name: the closest known one, or else `otherwise` (by default the known names)."""
    names = list(names)
    near = closest(name, names)
    if near is not None:
        return f"did you mean {near}?"
    return f"known are {', '.join(names) or 'none'}" if otherwise is None else otherwise
