"""Commands that the pages tell a reader to type exist, with those options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from ludus.cli.main import app

ROOT = Path(__file__).parents[3]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
NAMES = "train|eval|play|replay|games|doctor|hosts|servers|bench|league|compare"
COMMAND = re.compile(rf"(?:^|[`$ ])ludus ((?:{NAMES})\b[^`#\[]*)")


def typed() -> Iterator[tuple[str, list[str]]]:
    """(where it stands, words after `ludus`)"""
    for page in PAGES:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for found in COMMAND.finditer(line):
                yield f"{page.relative_to(ROOT)}:{number}", found[1].partition(" -- ")[0].split()


def test_every_command_on_the_pages_exists_with_its_options() -> None:
    wrong, options = [], 0
    ludus: Any = typer.main.get_command(app)  # Any: a group or a command, of a library that typer keeps to itself
    ludus.list_commands(None)  # loads the commands of games
    for place, words in typed():
        command = ludus
        while words and words[0] in getattr(command, "commands", ()):
            command = command.commands[words.pop(0)]
        known = {"--help", *(name for parameter in command.params for name in parameter.opts)}
        asked = [name for word in words if (name := word.split("=")[0].rstrip(",.;:)'\"")).startswith("--")]
        wrong += [f"{place}: {name}" for name in asked if name not in known]
        options += len(asked)
    assert wrong == []
    assert options > 50, "the pages have many: these were not found"
