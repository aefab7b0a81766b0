"""The table of actions is RLGym's."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ludus.games.rocket import controls


def test_the_table_of_actions_is_that_of_rlgym() -> None:
    parsers = pytest.importorskip("rlgym.rocket_league.action_parsers", reason="needs the extra rocket")
    assert np.array_equal(controls.table(), parsers.LookupTableAction.make_lookup_table())


def test_actions_on_the_ground_are_found_by_what_they_press() -> None:
    table = controls.table()
    for throttle, steer, boost, handbrake in product((-1, 0, 1), (-1, 0, 1), (False, True), (False, True)):
        chosen = controls.ground_action(
            np.array([throttle]), np.array([steer]), np.array([boost and throttle == 1]), np.array([handbrake])
        )
        pressed = dict(zip(controls.NAMES, table[chosen[0]].tolist(), strict=True))
        assert (pressed["throttle"], pressed["steer"], pressed["handbrake"]) == (throttle, steer, handbrake)
        assert pressed["boost"] == (boost and throttle == 1)
        assert (pressed["jump"], pressed["pitch"], pressed["roll"]) == (0, 0, 0)
