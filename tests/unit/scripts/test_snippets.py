"""Python code on the pages imports names that exist, and is valid Python."""

from __future__ import annotations

import ast
import importlib
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
FENCE = re.compile(r"^( *)```python\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def snippets() -> Iterator[tuple[str, str]]:
    """Yield the page and the code of each Python block."""
    for page in PAGES:
        for match in FENCE.finditer(page.read_text(encoding="utf-8")):
            yield str(page.relative_to(ROOT)), textwrap.dedent(match[2]).replace("(...,", "(**{},")


def parsed(code: str) -> ast.Module:
    """Parse statements, or the entries of a dict, as a page shows a line to be added to a table."""
    try:
        return ast.parse(code)
    except SyntaxError:
        return ast.parse(f"{{{code}}}")


@pytest.mark.parametrize(("page", "code"), list(snippets()))
def test_python_on_the_pages_is_valid_and_imports_what_exists(page: str, code: str) -> None:
    for node in ast.walk(parsed(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ludus"):
            module = importlib.import_module(str(node.module))
            assert [name.name for name in node.names if not hasattr(module, name.name)] == [], page


def test_there_are_snippets() -> None:
    assert len(list(snippets())) > 10
