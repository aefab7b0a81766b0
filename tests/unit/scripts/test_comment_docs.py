from __future__ import annotations

from scripts.comment_docs import comment

LINES = [
    "class Point:",
    "    x: int  # metres to the east",
    "    # metres to the north,",
    "    # from the start",
    "    y: int = field(default=0)",
    "    name: Any  # Any: a text or a number",
]


def test_a_field_is_described_by_its_comment() -> None:
    assert comment(LINES, 2, 2) == "metres to the east"


def test_a_long_comment_stands_above_its_field() -> None:
    assert comment(LINES, 5, 5) == "metres to the north, from the start"


def test_reasons_for_any_are_no_description() -> None:
    assert comment(LINES, 6, 6) == ""
