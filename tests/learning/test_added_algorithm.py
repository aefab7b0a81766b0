"""The algorithm that docs/learning.md shows how to add."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

import ludus
from ludus.learner import algorithms
from ludus.learner.skeleton import Algorithm

PAGE = (Path(__file__).parents[2] / "docs" / "learning.md").read_text()


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Adds the algorithm as the page says, for this test. Returns its name."""
    section = PAGE.partition("## Add an algorithm\n")[2].partition("\n## ")[0]
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
    assert name not in algorithms.ALGORITHMS
    monkeypatch.setitem(algorithms.ALGORITHMS, name, target)
    return str(name)


def test_the_algorithm_of_the_page_learns_nim(added: str, tmp_path: Path) -> None:
    assert issubclass(algorithms.find(added), Algorithm)
    settings = {"learner": {"algorithm": added, "epochs": 1}, "mode": "serial", "evaluation": {"matches": 100}}
    run = ludus.train("nim", updates=40, settings=settings, run_dir=tmp_path / "run", progress=False)
    assert run.updates == 40
    rates = {result.opponent: result.win_rate for result in run.evaluation}
    assert rates["random"] > 0.8


def test_the_page_declares_what_the_base_class_declares() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `?(\w+)`? \| It|^\| `(min_segment)` \| (\d+)", PAGE, flags=re.MULTILINE)
    documented = {first or second: ast.literal_eval(one or other) for first, one, second, other in rows}
    declared = [name for name in Algorithm.__annotations__ if name != "reported"]
    assert documented == {name: getattr(Algorithm, name) for name in declared}
