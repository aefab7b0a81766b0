"""A run that is stopped and resumed is the run it would have been: equal weights on the toy games."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from torch import Tensor

from ludus.config.schema import (
    BudgetConfig,
    CheckpointConfig,
    EvaluationConfig,
    FleetConfig,
    LearnerConfig,
    OpponentsConfig,
    PolicyConfig,
    RolloutConfig,
    RunConfig,
)
from ludus.metrics import names
from ludus.metrics.observer import Numbers, Result
from ludus.policies import checkpoint
from ludus.policies.weights import read_tensors
from ludus.run import RunResult, train
from ludus.scale import underway

PATIENCE_S = 120.0


class Silent:
    def on_progress(self, numbers: Numbers) -> None: ...

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None: ...


class Interrupter(Silent):
    """Presses Ctrl-C once, when so many updates are made and another second has passed."""

    def __init__(self, updates: int) -> None:
        self._updates = updates

    def on_progress(self, numbers: Numbers) -> None:
        if float(numbers.get(names.UPDATES, 0)) >= self._updates:
            self._updates = sys.maxsize
            os.kill(os.getpid(), signal.SIGINT)


def config(updates: int, game: str = "rps", *, mode: str = "serial", hosts: int = 2, **options: object) -> RunConfig:
    """Matches last for several updates; past selves are thinned while they still play."""
    return RunConfig(
        game="toy",
        options={"game": game, "pile": 40, "rounds": 40, **options},
        mode="serial" if mode == "serial" else "overlapped",
        device="cpu",
        fleet=FleetConfig(hosts=hosts, matches=8, backoff_s=0.01),
        policy=PolicyConfig(width=16),
        rollout=RolloutConfig(segment=8),
        learner=LearnerConfig(decisions=256, minibatch=128, lr=3e-3, lr_schedule="constant"),
        opponents=OpponentsConfig(
            past=0.4, scripted=0.4, scripted_names=("random", "perfect"), snapshot_every=1, pool=2
        ),
        evaluation=EvaluationConfig(("perfect",), matches=4, quick_matches=4, every_updates=10_000),
        budget=BudgetConfig(minutes=0, updates=updates),
    )


def tensors(result: RunResult) -> dict[str, Tensor]:
    assert result.checkpoint is not None
    return {
        **read_tensors(result.checkpoint / checkpoint.MODEL),
        **read_tensors(result.checkpoint / checkpoint.OPTIMISER),
    }


def assert_equal_runs(one: RunResult, other: RunResult) -> None:
    ours, theirs = tensors(one), tensors(other)
    assert [name for name in ours if not torch.equal(ours[name], theirs[name])] == []
    assert one.checkpoint is not None
    assert other.checkpoint is not None
    first, second = load_file(one.checkpoint / checkpoint.MATCHES), load_file(other.checkpoint / checkpoint.MATCHES)
    assert first.keys() == second.keys()
    assert [name for name in first if not np.array_equal(first[name], second[name])] == []
    counters = [checkpoint.read_state(result.checkpoint).counters for result in (one, other) if result.checkpoint]
    assert counters[0] == counters[1]


@pytest.mark.parametrize(("game", "truncate_after"), [("nim", 0), ("rps", 27)])
def test_three_updates_and_three_more_are_six(tmp_path: Path, game: str, truncate_after: int) -> None:
    three, six = (config(updates, game, truncate_after=truncate_after) for updates in (3, 6))
    whole = train(six, tmp_path / "whole", observer=Silent())
    train(three, tmp_path / "parts", observer=Silent())
    parts = train(six, tmp_path / "parts", resume=True, observer=Silent())
    assert_equal_runs(whole, parts)


def recorded(result: RunResult) -> int:
    """Decisions that a checkpoint holds and no update has seen."""
    assert result.checkpoint is not None
    arrays = load_file(result.checkpoint / checkpoint.MATCHES)
    return int(arrays["rollout.segments.complete.action"].size + arrays["rollout.segments.position"].sum())


def counters(result: RunResult) -> dict[str, float]:
    assert result.checkpoint is not None
    return checkpoint.read_state(result.checkpoint).counters


def alone(chosen: RunConfig) -> RunConfig:
    """Every decision is the learner's, and matches are long."""
    return msgspec.structs.replace(
        chosen, opponents=OpponentsConfig(past=0.0, scripted=0.0), options={"game": "rps", "rounds": 300}
    )


@pytest.mark.parametrize("mode", ["serial", "overlapped"])
def test_ctrl_c_loses_no_decision(tmp_path: Path, mode: str) -> None:
    chosen = alone(config(1_000_000, mode=mode))
    first = train(chosen, tmp_path, observer=Interrupter(5))
    assert first.interrupted
    assert counters(first)[names.DECISIONS] == counters(first)[names.LEARNED] + recorded(first)
    again = train(chosen, tmp_path, resume=True, observer=Interrupter(first.version + 5))
    assert again.version > first.version
    assert counters(again)[names.DECISIONS] == counters(again)[names.LEARNED] + recorded(again)
    assert names.VOIDED not in counters(again)
    assert names.BEGUN_ANEW not in counters(again)


def test_a_serial_run_that_is_interrupted_within_a_batch_goes_on_exactly(tmp_path: Path) -> None:
    first = train(config(1_000_000, slow_s=0.002), tmp_path / "parts", observer=Interrupter(2))
    assert first.interrupted
    chosen = config(first.version + 2, slow_s=0.002)
    parts = train(chosen, tmp_path / "parts", resume=True, observer=Silent())
    whole = train(chosen, tmp_path / "whole", observer=Silent())
    assert_equal_runs(whole, parts)


KILLED = """
import os, signal, sys
from pathlib import Path
import msgspec
from ludus.config.schema import RunConfig
from ludus.run import train
from tests.learning.test_resume import Silent

class Killer(Silent):
    def on_progress(self, numbers):
        if (Path(sys.argv[2]) / "checkpoints" / "u00000003").exists():
            os.kill(os.getpid(), signal.SIGKILL)

train(msgspec.json.decode(sys.argv[1], type=RunConfig), Path(sys.argv[2]), observer=Killer())
"""


def killed(chosen: RunConfig, run_dir: Path) -> int:
    """Run it in a process that kills itself after its third checkpoint; the version it can be resumed from."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, msgspec.json.encode(chosen).decode(), str(run_dir)],
        timeout=PATIENCE_S,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == -signal.SIGKILL
    latest = checkpoint.Checkpoints(run_dir, 1).latest()
    assert latest is not None
    return checkpoint.read_state(latest).version


ALWAYS = CheckpointConfig(every_s=1e-9, keep=1_000_000)


def test_a_run_that_is_killed_goes_on_from_its_checkpoint_exactly(tmp_path: Path) -> None:
    chosen = msgspec.structs.replace(config(1_000_000, slow_s=0.002), checkpoint=ALWAYS)
    updates = killed(chosen, tmp_path / "killed") + 2
    limited = msgspec.structs.replace(chosen, budget=BudgetConfig(minutes=0, updates=updates))
    parts = train(limited, tmp_path / "killed", resume=True, observer=Silent())
    whole = train(limited, tmp_path / "whole", observer=Silent())
    assert_equal_runs(whole, parts)


def test_an_overlapped_run_that_is_killed_goes_on_with_what_its_checkpoint_has(tmp_path: Path) -> None:
    chosen = msgspec.structs.replace(alone(config(1_000_000, mode="overlapped")), checkpoint=ALWAYS)
    updates = killed(chosen, tmp_path) + 2
    again = train(
        msgspec.structs.replace(chosen, budget=BudgetConfig(minutes=0, updates=updates)),
        tmp_path,
        resume=True,
        observer=Silent(),
    )
    assert again.version == updates
    assert counters(again)[names.DECISIONS] == counters(again)[names.LEARNED] + recorded(again)
    assert names.VOIDED not in counters(again)
    assert names.BEGUN_ANEW not in counters(again)


@pytest.mark.parametrize(
    ("mode", "trouble"), [("serial", "missing"), ("overlapped", "damaged"), ("serial", "other hosts")]
)
def test_without_a_usable_file_matches_begin_anew_which_is_counted_and_logged(
    tmp_path: Path, mode: str, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    first = train(config(2, mode=mode), tmp_path, observer=Silent())
    assert first.checkpoint is not None
    file = first.checkpoint / checkpoint.MATCHES
    chosen = config(4, mode=mode)
    if trouble == "missing":
        file.unlink()
    elif trouble == "damaged":
        file.write_bytes(file.read_bytes()[:5000])
    else:
        chosen = msgspec.structs.replace(chosen, fleet=FleetConfig(hosts=1, matches=8))
    with caplog.at_level(logging.WARNING):
        again = train(chosen, tmp_path, resume=True, observer=Silent())
    assert again.version == 4
    assert counters(again)[names.BEGUN_ANEW] == 1
    assert "matches begin anew" in caplog.text


def test_past_selves_that_left_the_pool_while_they_play_are_kept(tmp_path: Path) -> None:
    chosen = config(5)
    result = train(chosen, tmp_path, observer=Silent())
    assert result.checkpoint is not None
    found = underway.read(result.checkpoint / checkpoint.MATCHES, chosen)
    playing = {name for _, seats in found.note.bank.pairings for name in seats if name.startswith("past:")}
    pool = {f"past:{version}" for version in checkpoint.read_state(result.checkpoint).pool}
    assert playing - pool
    assert {name.replace(":", ".") for name in playing - pool} <= found.arrays.keys()


@pytest.mark.parametrize("mode", ["serial", "overlapped"])
def test_a_match_that_strays_is_voided_and_the_run_goes_on(tmp_path: Path, mode: str) -> None:
    chosen = config(
        2, mode=mode, hosts=1
    )  # with two, the other one could play all that is left while this one restarts
    first = train(chosen, tmp_path, observer=Silent())
    assert first.checkpoint is not None
    file = first.checkpoint / checkpoint.MATCHES
    found = underway.read(file, chosen)
    arrays = {name: array.copy() for name, array in found.arrays.items()}
    arrays["fleet.obs"][0] ^= 255  # as if the simulator were another one by now
    underway.write(file, underway.Underway(found.note, arrays))
    again = train(config(6, mode=mode, hosts=1), tmp_path, resume=True, observer=Silent())
    assert again.version == 6
    assert counters(again)[names.VOIDED_BY("strayed")] == 1
    assert counters(again)[names.VOIDED] == 1
