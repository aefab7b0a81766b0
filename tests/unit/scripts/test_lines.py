"""JavaScript keeps the line length that ruff keeps in Python."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
FOLDERS = ("src", "tests", "scripts", "benchmarks")


def test_no_line_of_javascript_is_longer_than_one_of_python() -> None:
    limit = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["line-length"]
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.js"))]
    assert files
    long = [
        f"{path.relative_to(ROOT)}:{number}: {len(line)} characters"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > limit
    ]
    assert long == []
