"""The examples, as a reader would run them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
TESTED = {"train_toy.py", "evaluate.py", "scripted_policy.py"}


def completed(name: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Every module that it imports is a line of its stderr."""
    said = subprocess.run(
        [sys.executable, "-W", "error", "-X", "importtime", str(EXAMPLES / name), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert said.returncode == 0, said.stderr[-4000:]
    return said


def output(name: str, folder: Path, *words: str) -> str:
    return completed(name, folder, *words).stdout


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("example")
    return folder, completed("train_toy.py", folder, "run")


def test_every_example_is_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == TESTED


def test_nim_is_trained_from_python(trained: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, said = trained
    assert "20 updates; the weights are in" in said.stdout
    assert (folder / "run" / "config.yaml").exists()


def test_a_run_that_compiles_nothing_never_loads_the_compiler(
    trained: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    imported = set(re.findall(r"^import time: .*\| +(\S+)$", trained[1].stderr, re.MULTILINE))
    assert "torch" in imported
    assert not imported & {"torch._dynamo", "torch._inductor", "sympy"}


def test_a_trained_agent_is_evaluated_from_python(trained: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
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
