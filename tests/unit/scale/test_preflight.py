from __future__ import annotations

from typing import Any

import pytest

from ludus.cli import prepare
from ludus.config import load
from ludus.errors import ConfigError
from ludus.games import registry
from ludus.scale import preflight


@pytest.mark.parametrize("preset", ["nim-stages", "gen1-stages", "rocket-stages"])
def test_presets_with_stages_can_be_done(preset: str) -> None:
    config = load.load(prepare.presets()[preset], options_of=prepare.options_of)
    stages = preflight.stages(config, registry.load(config.game))
    assert len(stages) == len(config.curriculum) > 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"opponents.scripted": 0.0}, r"curriculum\[0\].promote.win_rate.opponent: perfect is not played"),
        ({"evaluation.opponents": ["perfekt"]}, r"curriculum\[0\], with what it sets: evaluation.opponents: .*perfect"),
        ({"learner.replay.decisions": 5000}, r"curriculum\[0\], with what it sets: learner.replay"),
    ],
)
def test_what_a_stage_cannot_do_is_refused_with_its_place(settings: dict[str, Any], message: str) -> None:
    rule = {"win_rate": {"opponent": "perfect", "at_least": 0.5}}
    stages = [{"name": "one", "set": settings, "promote": rule}, {"name": "two"}]
    config = load.build({"game": "toy", "curriculum": stages}, options_of=prepare.options_of)
    with pytest.raises(ConfigError, match=message):
        preflight.stages(config, registry.load("toy"))
