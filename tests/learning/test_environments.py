"""Environments of other people are learned, from their name alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.running import Watch, train

from ludus.config import load
from ludus.config.settings import RunConfig
from ludus.games.catalogue import options_of, presets
from ludus.metrics import names


def preset(name: str, *sets: str) -> RunConfig:
    return load.load(presets()[name], ["device=cpu", "evaluation.every_updates=1000000", *sets], options_of=options_of)


def test_cartpole_is_on_its_way_after_forty_thousand_steps(tmp_path: Path) -> None:
    watch = Watch()
    # two hosts on whatever machine: by itself their number is that of cores, and seeds go by it
    sets = ("mode=serial", "fleet.hosts=2", "budget.decisions=40000", "learner.lr_schedule=constant")
    small = preset("cartpole", *sets, "evaluation.matches=20")
    train(small, tmp_path / "run", observer=watch)
    assert float(watch.numbers[names.RETURN("none")]) >= 100  # random play: 22; seeds 0 to 5 had 157 to 242


@pytest.mark.slow
def test_the_cartpole_preset_balances_for_four_hundred_steps(tmp_path: Path) -> None:
    watch = Watch()
    train(preset("cartpole", "mode=serial"), tmp_path / "run", observer=watch)
    assert float(watch.numbers[names.RETURN("none")]) >= 400


@pytest.mark.slow
def test_the_connect_four_preset_beats_random_moves(tmp_path: Path) -> None:
    watch = Watch()
    train(preset("connect-four"), tmp_path / "run", observer=watch)
    assert float(watch.numbers[names.WIN_RATE("random")]) >= 0.9
