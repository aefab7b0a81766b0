"""The algorithm that docs/learning.md shows how to add."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tests.added import DOCS, add_from_page

import ludus
from ludus.learner import algorithms
from ludus.learner.skeleton import Algorithm

PAGE = (DOCS / "learning.md").read_text()


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Adds the algorithm as the page says, for this test. Returns its name."""
    return add_from_page("learning.md", "Add an algorithm", algorithms.ALGORITHMS, monkeypatch, tmp_path)


def test_the_algorithm_of_the_page_learns_nim(added: str, tmp_path: Path) -> None:
    assert issubclass(algorithms.find(added), Algorithm)
    settings = {
        "learner": {"algorithm": added, "epochs": 1},
        "mode": "serial",
        "evaluation": {"matches": 100, "opponents": ["random", "perfect"]},
    }
    run = ludus.train("nim", updates=40, settings=settings, run_dir=tmp_path / "run", progress=False)
    assert run.updates == 40
    rates = {result.opponent: result.win_rate for result in run.evaluation}
    assert rates["random"] > 0.8
    assert rates["perfect"] > 0.4  # a perfect player wins from one of the two seats


def test_the_page_declares_what_the_base_class_declares() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `?(\w+)`? \| It|^\| `(min_segment)` \| (\d+)", PAGE, flags=re.MULTILINE)
    documented = {first or second: ast.literal_eval(one or other) for first, one, second, other in rows}
    declared = [name for name in Algorithm.__annotations__ if name != "reported"]
    assert documented == {name: getattr(Algorithm, name) for name in declared}
