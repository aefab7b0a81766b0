"""Tests of option values for `Game.portable`: values that a file from another machine may set."""

from __future__ import annotations

import re
from collections.abc import Callable

MOST_CHARS = 200
MOST_ITEMS = 100

Test = Callable[[object], bool]


def text_like(pattern: str) -> Test:
    """Return a test that accepts texts which match the whole pattern."""
    compiled = re.compile(pattern, re.ASCII)

    def test(value: object) -> bool:
        return isinstance(value, str) and len(value) <= MOST_CHARS and compiled.fullmatch(value) is not None

    return test


def named_numbers(value: object) -> bool:
    """Accept a section whose keys are identifiers and whose values are numbers or booleans."""
    return (
        isinstance(value, dict)
        and len(value) <= MOST_ITEMS
        and all(isinstance(key, str) and key.isidentifier() and len(key) <= MOST_CHARS for key in value)
        and all(isinstance(each, bool | int | float) for each in value.values())
    )
