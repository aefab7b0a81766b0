"""A file that the game needs. It stands for a simulator that other games download."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ludus.games import cache
from ludus.games.checks import Finding
from ludus.games.registry import Progress

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def words_path() -> Path:
    return Path(os.environ.get("CLOSEST_HOME", cache.home() / "closest")) / "words.json"


def prepare(options: Any, progress: Progress) -> None:  # Any: the game's own options, which it does not need
    """Install the file if it is missing: before training, and in `ludus doctor --fix`."""
    if words_path().exists():
        return
    progress("writing the words", 0.0)
    words_path().parent.mkdir(parents=True, exist_ok=True)
    words_path().write_text(json.dumps(WORDS), encoding="utf-8")
    progress("writing the words", 1.0)


def checks() -> list[Finding]:
    """The lines of this game in `ludus doctor`."""
    if not words_path().exists():
        return [Finding("closest words", "missing", f"there is no {words_path()}", "ludus doctor --fix")]
    return [Finding("closest words", "ok", str(words_path()))]
