"""Whole runs on toy hosts: repeatable, resumable, interruptible; overlapped ones learn too."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
import torch
from torch import Tensor

from ludus.config.schema import (
    BudgetConfig,
    EvaluationConfig,
    FleetConfig,
    LearnerConfig,
    OpponentsConfig,
    PolicyConfig,
    RolloutConfig,
    RunConfig,
)
from ludus.errors import CheckpointError, ConfigError
from ludus.metrics import names
from ludus.metrics.observer import Numbers, Result
from ludus.policies import checkpoint
from ludus.policies.weights import read_tensors
from ludus.run import RunResult, train

PATIENCE_S = 120.0


class Watch:
    """Remembers the latest of every number, and all evaluations."""

    def __init__(self) -> None:
        self.numbers: dict[str, float | str] = {}
        self.evaluations: list[tuple[bool, dict[str, float]]] = []

    def on_progress(self, numbers: Numbers) -> None:
        self.numbers.update(numbers)

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        self.evaluations.append((final, {result.opponent: result.win_rate for result in results}))


def config(mode: str, updates: int, game: str = "nim", **options: object) -> RunConfig:
    return RunConfig(
        game="toy",
        options={"game": game, "pile": 9, **options},
        mode="serial" if mode == "serial" else "overlapped",
        device="cpu",
        fleet=FleetConfig(hosts=2, matches=8, backoff_s=0.01),
        policy=PolicyConfig(width=16),
        rollout=RolloutConfig(segment=8),
        learner=LearnerConfig(decisions=256, minibatch=128, lr=3e-3, gae_lambda=0.95),
        opponents=OpponentsConfig(past=0.3, scripted=0.2, snapshot_every=2),
        evaluation=EvaluationConfig(matches=20, quick_matches=4, every_updates=10_000),
        budget=BudgetConfig(minutes=0, updates=updates),
    )


def tensors(result: RunResult) -> dict[str, Tensor]:
    assert result.checkpoint is not None
    return {
        **read_tensors(result.checkpoint / "model.safetensors"),
        **read_tensors(result.checkpoint / "optimiser.safetensors"),
    }


def assert_equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    assert [name for name in one if not torch.equal(one[name], other[name])] == []


def test_two_serial_runs_with_one_seed_give_equal_weights(tmp_path: Path) -> None:
    first = train(config("serial", 6), tmp_path / "a", observer=Watch())
    second = train(config("serial", 6), tmp_path / "b", observer=Watch())
    assert_equal(tensors(first), tensors(second))
    other = train(msgspec.structs.replace(config("serial", 6), seed=2), tmp_path / "c", observer=Watch())
    assert any(not torch.equal(tensors(first)[name], tensors(other)[name]) for name in tensors(first))


def test_resuming_restores_everything_and_is_itself_repeatable(tmp_path: Path) -> None:
    half = train(config("serial", 5), tmp_path / "a", observer=Watch())
    assert half.checkpoint is not None
    before = checkpoint.read_state(half.checkpoint)
    for copy in ("b", "c"):
        subprocess.run(["cp", "-r", tmp_path / "a", tmp_path / copy], check=True)
    watch = Watch()
    again = train(config("serial", 8), tmp_path / "b", resume=True, observer=watch)
    twin = train(config("serial", 8), tmp_path / "c", resume=True, observer=Watch())
    assert again.version == 8
    assert_equal(tensors(again), tensors(twin))
    assert again.checkpoint is not None
    after = checkpoint.read_state(again.checkpoint)
    assert after.counters[names.UPDATES] == 8
    assert after.counters[names.DECISIONS] > before.counters[names.DECISIONS]
    assert after.training_s > before.training_s
    assert set(before.pool) <= set(after.pool)


def test_overlapped_run_learns_records_its_lag_and_keeps_past_selves(tmp_path: Path) -> None:
    watch = Watch()
    result = train(config("overlapped", 60, game="rps"), tmp_path, observer=watch)
    assert not result.interrupted
    assert result.version == 60
    final, rates = watch.evaluations[-1]
    assert final
    assert rates["random"] >= 0.9
    assert 0 <= float(watch.numbers[names.LAG_MAX]) <= 8
    assert float(watch.numbers[names.POOL]) > 1
    assert names.TRAIN_WIN_RATE("past") in watch.numbers
    assert float(watch.numbers[names.HOSTS_ALIVE]) == 2


def test_overlapped_run_resumes(tmp_path: Path) -> None:
    train(config("overlapped", 4), tmp_path, observer=Watch())
    result = train(config("overlapped", 7), tmp_path, resume=True, observer=Watch())
    assert result.version == 7
    assert result.checkpoint is not None
    assert checkpoint.read_state(result.checkpoint).counters[names.LEARNED] == 7 * 256


@pytest.mark.parametrize("mode", ["serial", "overlapped"])
def test_evaluations_come_at_their_updates_and_mark_the_best_checkpoint(tmp_path: Path, mode: str) -> None:
    watch = Watch()
    base = config(mode, 4)
    evaluation = EvaluationConfig(matches=4, quick_matches=4, every_updates=2)
    train(msgspec.structs.replace(base, evaluation=evaluation), tmp_path, observer=watch)
    assert [final for final, _ in watch.evaluations] == [False, True]
    best = checkpoint.Checkpoints(tmp_path, 1).best()
    assert best is not None
    assert best.name in {"u00000002", "u00000004"}


def test_game_with_one_seat_is_evaluated_by_its_score(tmp_path: Path) -> None:
    watch = Watch()
    train(config("serial", 20, game="identity"), tmp_path, observer=watch)
    assert watch.numbers[names.WIN_RATE("none")] == 1.0


def test_run_folder_is_not_overwritten_and_an_empty_one_not_resumed(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint to resume"):
        train(config("serial", 1), tmp_path, resume=True, observer=Watch())
    train(config("serial", 1), tmp_path, observer=Watch())
    with pytest.raises(ConfigError, match="already holds a run"):
        train(config("serial", 1), tmp_path, observer=Watch())


@pytest.mark.parametrize("mode", ["serial", "overlapped"])
def test_checkpoint_of_another_game_is_refused(tmp_path: Path, mode: str) -> None:
    train(config(mode, 1), tmp_path, observer=Watch())
    with pytest.raises(CheckpointError, match=r"game toy/nim, this is game toy/rps"):
        train(config(mode, 2, game="rps"), tmp_path, resume=True, observer=Watch())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"device": "nonsense"}, "device: 'nonsense'"),
        ({"options": {"gmae": "nim"}}, r"options.gmae"),
        ({"opponents": OpponentsConfig(scripted_names=("prefect",))}, "opponents.scripted_names.* 'perfect'"),
        (
            {"evaluation": EvaluationConfig(opponents=("heuristic",))},
            "evaluation.opponents.* known are random, perfect",
        ),
    ],
)
def test_wrong_setting_is_refused_with_its_place(tmp_path: Path, change: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        train(msgspec.structs.replace(config("serial", 1), **change), tmp_path, observer=Watch())


def test_full_disk_is_counted_and_training_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    result = train(config("serial", 5), tmp_path, observer=Watch())
    assert result.version == 5
    assert result.checkpoint is None
    assert result.checkpoint_failures >= 3


PROGRAM = """
import sys
from pathlib import Path
import msgspec
from ludus.config.schema import RunConfig
from ludus.run import train

class Tell:
    def on_progress(self, numbers):
        print("progress", numbers.get("progress/updates", 0), flush=True)
    def on_evaluation(self, results, *, final=False):
        pass

config = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=RunConfig)
result = train(config, Path(sys.argv[2]), observer=Tell())
print("interrupted", result.interrupted, result.version, flush=True)
"""


def start(tmp_path: Path, mode: str) -> subprocess.Popen[str]:
    """A run without end in a process of its own, already at its second update."""
    (tmp_path / "config.json").write_bytes(msgspec.json.encode(config(mode, 1_000_000)))
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "config.json"), str(tmp_path / "run")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("progress") and float(line.split()[1]) >= 2:
            return process
    raise AssertionError(f"the run ended with {process.wait()}")


@pytest.mark.parametrize(("mode", "number"), [("serial", signal.SIGINT), ("overlapped", signal.SIGTERM)])
def test_signal_saves_a_checkpoint_and_leaves(tmp_path: Path, mode: str, number: signal.Signals) -> None:
    process = start(tmp_path, mode)
    process.send_signal(number)
    output, _ = process.communicate(timeout=PATIENCE_S)
    last = output.strip().splitlines()[-1].split()
    assert last[:2] == ["interrupted", "True"]
    assert process.returncode == 0
    assert checkpoint.load_agent(tmp_path / "run").version == int(last[2]) >= 2
    result = train(config("serial", int(last[2]) + 1), tmp_path / "run", resume=True, observer=Watch())
    assert result.version == int(last[2]) + 1
