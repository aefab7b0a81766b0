"""No text tells a user to install `ludus` from the Python package index, where that name is another project's."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from ludus.games.extras import install_command

ROOT = Path(__file__).parents[3]
FOLDERS = ("src", "docs", "examples", "scripts", "benchmarks")
SUFFIXES = {".md", ".py", ".js", ".html", ".yaml", ".java"}
FOREIGN = re.compile(r"pip3? install [^`\n]*\bludus(?!-rl)(?=[\[\s`'\"]|$)(?<!clone of ludus)|ludus\[")
EXTRA = re.compile(r"pip install -e '?\.\[(\w+)\]|install_command\([\"'](\w+)[\"']\)")


def texts() -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every page and source file."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    for path in (*ROOT.glob("*.md"), ROOT / "Makefile", *paths):
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def test_no_page_or_error_installs_the_other_project() -> None:
    wrong = [(path, match[0]) for path, text in texts() for match in FOREIGN.finditer(text)]
    assert wrong == []


def test_install_instructions_of_the_other_project_are_recognised() -> None:
    assert FOREIGN.search("pip install 'ludus[rocket]'")
    assert FOREIGN.search("`pip install ludus`")
    assert not FOREIGN.search(install_command("rocket"))
    assert not FOREIGN.search("pip install ludus-rl")


def test_every_extra_that_is_named_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == "ludus-rl"
    extras = {match[1] or match[2] for _, text in texts() for match in EXTRA.finditer(text)}
    assert {"rocket", "openspiel", "gymnasium", "pettingzoo", "showdown"} <= extras
    assert extras <= set(project["optional-dependencies"])
