"""Whole runs on toy hosts: repeatable, resumable, interruptible; overlapped ones learn too."""

from __future__ import annotations

import logging
import shutil
import signal
from pathlib import Path

import msgspec
import pytest
import torch
from tests.running import (
    ENDLESS,
    NEVER,
    PATIENCE_S,
    Watch,
    assert_equal_weights,
    latest,
    running,
    small_run,
    tensors,
    train,
)

from ludus.config.settings import (
    ComputeConfig,
    EvaluationConfig,
    LearnerConfig,
    OpponentsConfig,
    PolicyConfig,
    ReplayConfig,
    RunConfig,
)
from ludus.errors import CheckpointError, ConfigError
from ludus.metrics import names
from ludus.metrics.observer import Numbers
from ludus.policies.checkpoints import archive, checkpoint
from ludus.run import patience


def config(mode: str, updates: int, game: str = "nim") -> RunConfig:
    opponents = OpponentsConfig(past=0.3, scripted=0.2, snapshot_every=2)
    return small_run(updates, mode=mode, options={"game": game, "pile": 9}, opponents=opponents)


def test_two_serial_runs_with_one_seed_give_equal_weights(tmp_path: Path) -> None:
    first = train(config("serial", 6), tmp_path / "a", observer=Watch())
    second = train(config("serial", 6), tmp_path / "b", observer=Watch())
    assert_equal_weights(first, second)
    other = train(msgspec.structs.replace(config("serial", 6), seed=2), tmp_path / "c", observer=Watch())
    assert any(not torch.equal(tensors(first)[name], tensors(other)[name]) for name in tensors(first))


def test_resuming_restores_everything_and_is_itself_repeatable(tmp_path: Path) -> None:
    half = train(config("serial", 5), tmp_path / "a", observer=Watch())
    before = checkpoint.read_state(latest(half))
    for copy in ("b", "c"):
        shutil.copytree(tmp_path / "a", tmp_path / copy)
    again = train(config("serial", 8), tmp_path / "b", resume=True, observer=Watch())
    twin = train(config("serial", 8), tmp_path / "c", resume=True, observer=Watch())
    assert again.version == 8
    assert_equal_weights(again, twin)
    after = checkpoint.read_state(latest(again))
    assert after.counters[names.UPDATES] == 8
    assert after.counters[names.DECISIONS] > before.counters[names.DECISIONS]
    assert after.training_s > before.training_s
    assert set(before.pool) <= set(after.pool)


def test_overlapped_run_learns_records_its_lag_and_keeps_past_selves(tmp_path: Path) -> None:
    watch = Watch()
    evaluation = EvaluationConfig(matches=20, every_updates=NEVER)
    chosen = msgspec.structs.replace(config("overlapped", 60, game="rps"), evaluation=evaluation)
    result = train(chosen, tmp_path, observer=watch)
    assert not result.interrupted
    assert result.version == 60
    final, rates = watch.evaluations[-1]
    assert final
    assert rates["random"] >= 0.9
    assert 0 <= float(watch.numbers[names.LAG_MAX]) <= 8
    assert float(watch.numbers[names.POOL]) > 1
    assert names.TRAIN_WIN_RATE("past") in watch.numbers
    assert float(watch.numbers[names.HOSTS_ALIVE]) == 2


@pytest.mark.parametrize("mode", ["serial", "overlapped"])
def test_evaluations_come_at_their_updates_and_mark_the_best_checkpoint(tmp_path: Path, mode: str) -> None:
    watch = Watch()
    base = config(mode, 4)
    evaluation = EvaluationConfig(matches=4, quick_matches=4, every_updates=2)
    train(msgspec.structs.replace(base, evaluation=evaluation), tmp_path, observer=watch)
    assert [final for final, _ in watch.evaluations] == [False, True]
    best = archive.Checkpoints(tmp_path, 1).best()
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


def test_checkpoint_of_another_game_is_refused(tmp_path: Path) -> None:
    train(config("serial", 1), tmp_path, observer=Watch())
    for mode in ("serial", "overlapped"):
        with pytest.raises(CheckpointError, match=r"game toy/nim, this is game toy/rps"):
            train(config(mode, 2, game="rps"), tmp_path, resume=True, observer=Watch())


def test_start_of_a_run_says_how_it_learns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    learner = LearnerConfig(decisions=256, minibatch=128, accumulate=2, compute=ComputeConfig(fused=False))
    with caplog.at_level(logging.INFO, "ludus"):
        train(msgspec.structs.replace(config("serial", 1), learner=learner), tmp_path, observer=Watch())
    device, on, off = [record.getMessage() for record in caplog.records][:3]
    assert device == "learner on cpu"
    assert on == "  on:  gradient accumulation (learner.accumulate is 2)"
    assert "fused optimiser: learner.compute.fused is false" in off


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"device": "nonsense"}, "device: 'nonsense'"),
        ({"learner": LearnerConfig(minibatch=128, accumulate=3)}, "learner.accumulate: 3"),
        (
            {"learner": LearnerConfig(replay=ReplayConfig(decisions=9999))},
            "learner.replay.decisions: 9999 .*use vtrace",
        ),
        ({"learner": LearnerConfig(compute=ComputeConfig(precision="fp16"))}, "learner.compute.precision: fp16"),
        ({"policy": PolicyConfig(net="transformer", width=10, heads=4)}, r"policy.heads: 4 must divide policy.width"),
        ({"policy": PolicyConfig(net="entities", width=10, heads=4)}, r"policy.heads: 4 must divide policy.width"),
        pytest.param(
            {"policy": PolicyConfig(device="cuda")},
            "policy.device: there is no CUDA device here",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here"),
        ),
        ({"options": {"gmae": "nim"}}, r"options.gmae"),
        (
            {"opponents": OpponentsConfig(scripted_names=("prefect",))},
            "opponents.scripted_names.*did you mean perfect",
        ),
        (
            {"evaluation": EvaluationConfig(opponents=("heuristic",))},
            "evaluation.opponents.*known are random, perfect",
        ),
    ],
)
def test_wrong_setting_is_refused_with_its_place(tmp_path: Path, change: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        train(msgspec.structs.replace(config("serial", 1), **change), tmp_path, observer=Watch())
    assert not (tmp_path / "logs").exists()  # no host was started


def test_full_disk_is_counted_and_training_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    monkeypatch.setattr(patience, "LAST_S", 0.1)
    result = train(config("serial", 5), tmp_path, observer=Watch())
    assert result.version == 5
    assert result.checkpoint is None
    assert result.checkpoint_failures >= 3
    lost = "there is no checkpoint, so everything it learned is lost"
    assert result.unsaved == f"update 5 could not be saved (no space left on the disk); {lost}"


def test_an_observer_that_raises_ends_the_run_and_what_was_learned_is_saved(tmp_path: Path) -> None:
    class Broken(Watch):
        def on_progress(self, numbers: Numbers) -> None:
            raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        train(config("serial", ENDLESS), tmp_path, observer=Broken())
    assert checkpoint.load_agent(tmp_path).version >= 0


@pytest.mark.parametrize(("mode", "number"), [("serial", signal.SIGINT), ("overlapped", signal.SIGTERM)])
def test_signal_saves_a_checkpoint_and_leaves(tmp_path: Path, mode: str, number: signal.Signals) -> None:
    with running(config(mode, ENDLESS), tmp_path / "run") as process:
        process.send_signal(number)
        output, _ = process.communicate(timeout=PATIENCE_S)
    last = output.strip().splitlines()[-1].split()
    assert last[:2] == ["interrupted", "True"]
    assert process.returncode == 0
    assert checkpoint.load_agent(tmp_path / "run").version == int(last[2]) >= 2
