"""Lines, functions and files stay short enough to read: 120 columns, 60 lines, 400 lines."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
FOLDERS = ("src", "tests", "scripts", "benchmarks", "examples")
FILE_LINES = 400
FUNCTION_LINES = 60
OPENS_A_BLOCK = re.compile(r"^(?P<indent>\s*)(?P<head>[^\s}].*\(.*)\{$")
# `module.exports = function` is a whole module, which is given the classes that it patches
NO_FUNCTION = re.compile(
    r"(module\.exports|if|for|while|switch|try|do|describe|test|it)\b|.*\b(class|interface|record|enum) "
)


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


def test_no_file_is_too_long_to_read() -> None:
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources("py", "js", "java")}
    assert sizes
    assert {str(path.relative_to(ROOT)): lines for path, lines in sizes.items() if lines > FILE_LINES} == {}


def test_no_function_is_too_long_to_read() -> None:
    functions = [
        (f"{path.relative_to(ROOT)}:{line}", lines)
        for path in sources("py", "js", "java")
        for line, lines in (in_python if path.suffix == ".py" else in_braces)(path.read_text(encoding="utf-8"))
    ]
    assert functions
    assert [(place, lines) for place, lines in functions if lines > FUNCTION_LINES] == []


def test_functions_are_measured_in_every_language() -> None:
    python = "def f():\n    pass\n\n\nclass C:\n    async def g(self):\n        x = 1\n"
    assert list(in_python(python)) == [(1, 2), (6, 2)]
    assert list(in_braces("class A {\n\tf(a) {\n\t\tif (a) {\n\t\t}\n\t}\n}\n")) == [(2, 4)]


def sources(*endings: str) -> list[Path]:
    return [path for folder in FOLDERS for ending in endings for path in sorted((ROOT / folder).rglob(f"*.{ending}"))]


def in_python(text: str) -> Iterator[tuple[int, int]]:
    """Yield the first line of each function and how many lines it has."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            yield node.lineno, node.end_lineno - node.lineno + 1


def in_braces(text: str) -> Iterator[tuple[int, int]]:
    """Do the same for JavaScript and Java, where a function ends at the next brace that is indented as its head is."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        head = OPENS_A_BLOCK.match(line)
        if head is None or NO_FUNCTION.match(head["head"]):
            continue
        end = next(i for i in range(number + 1, len(lines)) if lines[i].startswith(head["indent"] + "}"))
        yield number + 1, end - number + 1
