from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.actors.resolved import resolve
from ludus.config import load
from ludus.errors import ConfigError
from ludus.games import catalogue
from ludus.spec import GameSpec, ObsSpec


@pytest.mark.parametrize("preset", ["nim-stages", "gen1-stages", "rocket", "rocket-stages"])
def test_presets_with_stages_can_be_done(preset: str) -> None:
    run = resolve(load.read(catalogue.presets()[preset]))
    assert len(run.stages) == len(run.config.curriculum) > 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"opponents.scripted": 0.0}, r"curriculum\[0\].promote.win_rate.opponent: perfect is not played"),
        ({"evaluation.opponents": ["perfekt"]}, r"curriculum\[0\], with its settings: evaluation.opponents: .*perfect"),
        ({"learner.replay.decisions": 5000}, r"curriculum\[0\], with its settings: learner.replay"),
    ],
)
def test_what_a_stage_cannot_do_is_refused_with_its_place(settings: dict[str, Any], message: str) -> None:
    rule = {"win_rate": {"opponent": "perfect", "at_least": 0.5}}
    stages = [{"name": "one", "set": settings, "promote": rule}, {"name": "two"}]
    with pytest.raises(ConfigError, match=message):
        resolve({"game": "toy", "curriculum": stages})


def test_a_net_understands_variants_with_other_seats_and_teams_and_nothing_else() -> None:
    def spec(**changes: Any) -> GameSpec:
        obs = ObsSpec.pack({"ball": ("float32", (3,))})
        plain: dict[str, Any] = {"name": "ball/1v1", "seats": 2, "actions": 5, "obs": obs, "schema": 1}
        return GameSpec(**{**plain, "layout": {"teams": [0, 1], "tick": 8}, **changes})

    larger = spec(name="ball/2v2", seats=4, layout={"teams": [0, 0, 1, 1], "tick": 8})
    assert larger.net_fingerprint == spec().net_fingerprint
    assert larger.fingerprint != spec().fingerprint
    others = (
        spec(name="puck/1v1"),
        spec(actions=6),
        spec(schema=2),
        spec(obs=ObsSpec.pack({"ball": ("float32", (4,))})),
        spec(layout={"teams": [0, 1], "tick": 4}),
        spec(tables={"cars": np.zeros((2, 2), np.float32)}),
    )
    assert len({spec().net_fingerprint, *(other.net_fingerprint for other in others)}) == 1 + len(others)
