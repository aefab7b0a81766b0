"""The examples, as a reader would run them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
TESTED = {"train_toy.py", "evaluate.py", "scripted_policy.py"}


def output(name: str, folder: Path, *words: str) -> str:
    said = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert said.returncode == 0, said.stderr
    return said.stdout


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("example")
    return folder, output("train_toy.py", folder, "run")


def test_every_example_is_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == TESTED


def test_nim_is_trained_from_python(trained: tuple[Path, str]) -> None:
    folder, said = trained
    assert "20 updates; the weights are in" in said
    assert (folder / "run" / "config.yaml").exists()


def test_a_trained_agent_is_evaluated_from_python(trained: tuple[Path, str]) -> None:
    folder, _ = trained
    rates = {
        name: float(rate) for name, rate in re.findall(r"(\w+): ([\d.]+)% won", output("evaluate.py", folder, "run"))
    }
    assert set(rates) == {"random", "perfect"}
    assert rates["random"] > 50  # it has learned something


def test_a_policy_written_by_hand_wins(tmp_path: Path) -> None:
    wins = re.search(r"(\d+) of 100 won", output("scripted_policy.py", tmp_path))
    assert wins is not None
    assert int(wins[1]) > 80
