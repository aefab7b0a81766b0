"""Adds what a page of the documentation shows how to add: one file, and one line in a table."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def add_from_page(
    page: str, heading: str, table: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> str:
    """Import the first Python block of a section as the module that the section names, and add the second one to the
    table, both for the time of one test. Return the name in the table."""
    section = (DOCS / page).read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    source, line = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    path = re.search(r"Save it as `src/(.*?)\.py`", section)
    assert path is not None
    module_name = path[1].replace("/", ".")
    (tmp_path / "added.py").write_text(source)
    spec = importlib.util.spec_from_file_location(module_name, tmp_path / "added.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, module_name, module)
    spec.loader.exec_module(module)
    ((name, target),) = ast.literal_eval("{" + line + "}").items()
    assert name not in table
    monkeypatch.setitem(table, name, target)
    return str(name)
