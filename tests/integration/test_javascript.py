"""Runs the tests written in JavaScript, one file at a time."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from ludus.games.showdown.install import Installation

FOLDER = Path(__file__).parents[1] / "js"
FILES = sorted(path.name for path in FOLDER.glob("*.test.js"))


def test_there_are_javascript_tests() -> None:
    assert FILES


@pytest.mark.parametrize("name", FILES)
def test_javascript_tests_pass(name: str, showdown: Installation) -> None:
    passes(name, showdown)


@pytest.mark.slow
def test_the_mask_is_right_in_many_battles(showdown: Installation) -> None:
    passes("mask.test.js", showdown, LUDUS_TEST_TIMES="6")


def passes(name: str, showdown: Installation, **environment: str) -> None:
    file = FOLDER / name
    run = subprocess.run(
        [str(showdown.node), "--test", "--test-reporter=tap", str(file)],
        env={**os.environ, "LUDUS_TEST_SIMULATOR": str(showdown.root), **environment},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    counts = {key: int(value) for key, value in re.findall(r"^# (\w+) (\d+)$", run.stdout, re.MULTILINE)}
    written = len(re.findall(r"^\s*test\(", file.read_text(encoding="utf-8"), re.MULTILINE))
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert counts["fail"] == counts["skipped"] == counts["todo"] == 0
    assert counts["pass"] >= written
