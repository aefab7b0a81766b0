"""Whole runs on toy hosts that play on a CUDA device by captured graphs, and learn there."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.running import NEVER, Watch, assert_equal_weights, small_run, train

from ludus.config.settings import (
    EvaluationConfig,
    LearnerConfig,
    OpponentsConfig,
    PolicyConfig,
    PpoConfig,
    RecurrentConfig,
    RunConfig,
)
from ludus.metrics import names

pytestmark = pytest.mark.cuda


def config(mode: str, updates: int, **policy: object) -> RunConfig:
    chosen = small_run(
        updates,
        mode=mode,
        device="cuda",
        options={"game": "rps"},
        opponents=OpponentsConfig(past=0.3, scripted=0.2, snapshot_every=2),
        learner=LearnerConfig(
            decisions=256, minibatch=128, lr=3e-3, lr_schedule="constant", ppo=PpoConfig(gae_lambda=0.95)
        ),
        evaluation=EvaluationConfig(matches=20, every_updates=NEVER),
    )
    return msgspec.structs.replace(
        chosen, policy=msgspec.structs.replace(PolicyConfig(width=16, device="cuda"), **policy)
    )


def test_two_serial_runs_with_one_seed_give_equal_weights(tmp_path: Path) -> None:
    first, second = (train(config("serial", 6), tmp_path / name, observer=Watch()) for name in "ab")
    assert_equal_weights(first, second)


def test_a_serial_run_that_was_stopped_ends_with_the_weights_it_would_have_had(tmp_path: Path) -> None:
    recurrent = RecurrentConfig(kind="lstm", width=8, sequence_length=8)
    whole = train(config("serial", 6, recurrent=recurrent), tmp_path / "whole", observer=Watch())
    train(config("serial", 3, recurrent=recurrent), tmp_path / "parts", observer=Watch())
    parts = train(config("serial", 6, recurrent=recurrent), tmp_path / "parts", resume=True, observer=Watch())
    assert_equal_weights(whole, parts)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_overlapped_runs_learn_and_keep_past_selves(tmp_path: Path, precision: str) -> None:
    watch = Watch()
    result = train(config("overlapped", 60, precision=precision), tmp_path, observer=watch)
    assert result.version == 60
    final, rates = watch.evaluations[-1]
    assert final
    assert rates["random"] >= 0.9
    assert float(watch.numbers[names.POOL]) > 1
