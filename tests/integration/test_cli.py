"""The real command line on the toy game, where it matters in a process of its own."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
import threading
from pathlib import Path

import pytest
from tests.commands import DEADLINE_S, LUDUS, interrupted, ludus, ludus_here

from ludus.metrics import names
from ludus.metrics.exporters import csv, evaluations
from ludus.run import provenance

SMALL = (
    "mode=serial",
    "fleet.matches=8",
    "learner.decisions=256",
    "learner.minibatch=128",
    "rollout.segment=8",
    "evaluation.matches=4",
    "evaluation.every_updates=2",
    "evaluation.quick_matches=2",
    "policy.width=8",
)


def small(**budget: float) -> list[str]:
    sets = (*SMALL, *(f"budget.{name}={value}" for name, value in budget.items()))
    return [word for each in sets for word in ("--set", each)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A folder in which a run of two updates has been trained, and what was said."""
    folder = tmp_path_factory.mktemp("trained")
    return folder, ludus(folder, "train", "nim", *small(updates=2), "--run-dir", "run")


def test_training_without_a_terminal_writes_plain_lines_and_every_file(
    trained: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, said = trained
    assert said.returncode == 0, said.stderr
    assert "\x1b" not in said.stdout
    assert "final evaluation against random" in said.stdout
    assert "ludus eval run" in said.stdout
    run = folder / "run"
    for name in (
        "config.yaml",
        "starts.jsonl",
        "progress.csv",
        "evaluations.jsonl",
        "run.log",
        "report.md",
        "learning_curve.png",
        "tensorboard",
    ):
        assert (run / name).exists()
    assert float(csv.read(run / "progress.csv")[-1][names.UPDATES]) == 2
    assert evaluations.read(run / "evaluations.jsonl")[-1].final
    assert "ludus train nim --set mode=serial" in (run / "report.md").read_text()


def test_a_trained_run_is_evaluated_and_a_saved_match_replayed(
    trained: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = trained
    said = ludus_here(
        folder, "eval", "run", "--matches", "4", "--opponents", "random", "--save-replays", "saved", "--json"
    )
    assert said.returncode == 0, said.stderr
    page = json.loads(said.stdout)
    assert [result["opponent"] for result in page["results"]] == ["random"]
    assert page["results"][0]["matches"] == 4
    activities = {each["activity"]: each for each in page["activities"]}
    assert {"actor/wait_hosts", "actor/policies", "actor/opponents", "actor/other"} <= set(activities)
    assert sum(each["share"] for each in page["activities"] if each["process"] == "actor") == pytest.approx(1.0)
    assert 0 < activities["actor/policies"]["p50_ms"] <= activities["actor/policies"]["p95_ms"]
    saved = sorted((folder / "saved").glob("*.json"))
    again = ludus_here(folder, "replay", str(saved[0]))
    assert again.returncode == 0, again.stderr
    assert "It ends as recorded" in again.stdout
    assert len(list((folder / "saved").glob("*.html"))) == 1
    rewards = ludus_here(folder, "replay", str(saved[0]), "--value", "run")
    assert rewards.returncode == 0, rewards.stderr
    assert "This game reports no reward terms" in rewards.stdout
    (picture,) = (folder / "saved").glob("*.rewards.png")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_trained_run_plays_the_scaling_benchmark(trained: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, _ = trained
    plan = ("--hosts", "1", "--matches", "2", "--repeats", "1", "--budget", "1s", "--policy", "run", "--out", "scaling")
    said = ludus_here(folder, "bench", "scale", *plan)
    assert said.returncode == 0, said.stderr
    page = json.loads((folder / "scaling" / "scaling.json").read_text())
    assert page["plan"]["game"] == "toy"
    assert page["plan"]["policy"].startswith("run/checkpoints/u")
    assert page["trials"][0]["decisions"] > 0


def test_an_opponent_that_does_not_exist_is_refused(trained: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, _ = trained
    said = ludus_here(folder, "eval", "run", "--opponents", "randm")
    assert said.returncode == 2
    assert said.stderr == (
        "ludus: --opponents: this game has no scripted policy 'randm' (did you mean random?), and it is neither the "
        "folder of a run or checkpoint, an agent of `ludus agents`, nor tcp://HOST:PORT/NAME\n"
    )


def test_a_resumed_run_goes_on_where_it_was(
    trained: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    shutil.copytree(trained[0] / "run", tmp_path / "run")
    said = ludus_here(tmp_path, "train", "--resume", "--run-dir", "run", "--set", "budget.updates=3")
    assert said.returncode == 0, said.stderr
    rows = csv.read(tmp_path / "run" / "progress.csv")
    updates = [float(row[names.UPDATES] or 0) for row in rows]
    assert updates[-1] == 3
    assert updates == sorted(updates)
    assert [each.final for each in evaluations.read(tmp_path / "run" / "evaluations.jsonl")].count(True) == 1
    assert len(provenance.read(tmp_path / "run")) == 2


def test_ctrl_c_saves_leaves_and_says_how_to_go_on(tmp_path: Path) -> None:
    trains = small(minutes=30)
    code, rest = interrupted(tmp_path, lambda line: "decisions/s" in line, "train", "nim", *trains, "--run-dir", "run")
    assert code == 130
    assert "ludus train --run-dir run --resume" in rest
    assert list((tmp_path / "run" / "checkpoints").glob("u*"))


def test_training_on_a_terminal_shows_the_live_table(tmp_path: Path) -> None:
    shown = on_a_terminal(tmp_path, 80, 24, "train", "nim", *small(updates=2), "--run-dir", "run")
    for words in ("Speed", "decisions/s", "hosts alive", "Wins, final", "100%", "What to do next:"):
        assert words in shown
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    table = plain[: plain.index("What to do next:")]
    assert max(len(line.rstrip("\r")) for line in re.split(r"\r?\n|\r", table)) <= 80
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h")  # the cursor comes back as often as it goes


def on_a_terminal(folder: Path, columns: int, lines: int, *words: str) -> str:
    """What `ludus <words>` writes to a terminal of that size until it ends well."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    env = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [*LUDUS, *words],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**env, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(theirs)
    deadline = threading.Timer(DEADLINE_S, process.kill)
    deadline.start()
    shown = b""
    try:
        while chunk := _read(ours):
            shown += chunk
        code = process.wait(DEADLINE_S)
    finally:
        deadline.cancel()
        os.close(ours)
    text = shown.decode(errors="replace")
    assert code == 0, text[-2000:]
    return text


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux's way to say that the other side is closed
        return b""
