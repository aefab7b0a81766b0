"""What scripted players of OpenFront choose, from observations alone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ludus.games.openfront.game import HERE
from ludus.games.openfront.scripted import CautiousPolicy, ExpanderPolicy, columns_of, listed_actions
from ludus.games.showdown import node
from ludus.spec import GameSpec
from ludus.types import Arrivals
from ludus.wire import frames


@pytest.fixture(scope="module")
def spec() -> GameSpec:
    """The spec that a host would send, without a checkout."""
    script = (
        f"const {{ layoutOf, leavesOf, tablesOf }} = require('{HERE}/host/observe.js');"
        f"const {{ packTable }} = require('{HERE.parents[1]}/sdk/javascript/layout.js');"
        "const options = { feature_set: 'summary' };"
        "const packed = Object.entries(tablesOf()).map(([name, t]) => [name, packTable(t.shape, t.data)]);"
        "const layout = layoutOf(options);"
        "console.log(JSON.stringify({ protocol: 2, name: 'openfront', seats: 1, actions: layout.actions.length,"
        " schema: 1, obs: leavesOf(options), layout, tables: Object.fromEntries(packed), facts: {} }));"
    )
    run = subprocess.run([node.find(), "-e", script], capture_output=True, timeout=60, check=True)
    return frames.decode_hello(memoryview(run.stdout)).spec()


class Position:
    """One row, of which tests set what a player looks at."""

    def __init__(self, spec: GameSpec) -> None:
        self.spec = spec
        self.obs = np.zeros((1, spec.obs.nbytes), np.uint8)
        self.legal = np.zeros((1, spec.actions), np.bool_)
        self.listed = listed_actions(spec)

    def rival(self, slot: int, **values: float) -> Position:
        self._write("rivals", values, slot)
        return self

    def state(self, **values: float) -> Position:
        self._write("globals", values, None)
        return self

    def _write(self, name: str, values: dict[str, float], slot: int | None) -> None:
        columns = columns_of(self.spec, name)
        numbers = self.spec.obs.reals(self.obs, name)[0].copy()
        for column, value in values.items():
            numbers[columns.index(column) if slot is None else (slot, columns.index(column))] = value
        self.spec.obs.write(self.obs, name, numbers[None])

    def allow(self, *kinds: str) -> Position:
        for at, action in enumerate(self.listed):
            self.legal[0, at] |= action["kind"] in kinds
        return self

    def arrivals(self) -> Arrivals:
        nothing = np.zeros(1, np.float32)
        return Arrivals(np.zeros(1, np.int32), np.zeros(1, np.int64), self.obs, self.legal, nothing, nothing > 0)

    def named(self, action: NDArray[np.int32]) -> tuple[object, object]:
        chosen = self.listed[int(action[0])]
        return chosen["kind"], chosen["rival"]


def choice(position: Position) -> tuple[object, object]:
    return position.named(ExpanderPolicy(position.spec, 1).act(position.arrivals()).action)


def test_the_expander_takes_free_land_first_and_waits_while_an_attack_is_under_way(spec: GameSpec) -> None:
    position = Position(spec).allow("noop", "attack", "boat").state(fullness=0.6).rival(1, strength=-2.0)
    assert choice(position) == ("attack", 0)
    assert choice(position.rival(0, attacked=0.2)) == ("attack", 1)
    assert choice(position.rival(1, attacked=0.2).rival(0, coast=0.0)) != ("attack", 0)


def test_the_expander_attacks_the_weakest_and_nobody_stronger(spec: GameSpec) -> None:
    busy = Position(spec).allow("noop", "attack").state(fullness=0.9).rival(0, attacked=0.5)
    for slot in range(1, 9):
        busy.rival(slot, strength=2.0)
    assert choice(busy) == ("noop", -1)
    assert choice(busy.rival(2, strength=-0.5).rival(3, strength=-1.0)) == ("attack", 3)
    assert choice(busy.state(fullness=0.1)) == ("noop", -1)


def test_the_expander_sails_if_nobody_is_in_reach_by_land(spec: GameSpec) -> None:
    position = Position(spec).allow("noop", "boat").state(fullness=0.9).rival(0, coast=0.8).rival(1, coast=0.9)
    assert choice(position.rival(1, strength=-1.0)) == ("boat", 0)


def test_the_expander_builds_cities_and_chooses_the_first_place_to_spawn(spec: GameSpec) -> None:
    assert choice(Position(spec).allow("spawn")) == ("spawn", -1)
    position = Position(spec).allow("noop", "build", "attack").state(fullness=0.9)
    action = ExpanderPolicy(spec, 1).act(position.arrivals()).action
    assert position.listed[int(action[0])]["unit"] == "City"


def test_the_cautious_player_rests_mostly_and_never_risks_much(spec: GameSpec) -> None:
    policy = CautiousPolicy(spec, 3)
    position = Position(spec).allow("noop", "attack", "boat", "build")
    chosen = [position.listed[int(policy.act(position.arrivals()).action[0])] for _ in range(400)]
    assert 0.7 < sum(each["kind"] == "noop" for each in chosen) / 400 < 0.9
    assert max(float(str(each["share"])) for each in chosen) <= 0.2
    only = Position(spec).allow("spawn")
    assert only.named(policy.act(only.arrivals()).action)[0] == "spawn"


def test_the_state_of_the_cautious_player_can_be_restored(spec: GameSpec) -> None:
    first, second = CautiousPolicy(spec, 3), CautiousPolicy(spec, 4)
    arrivals = Position(spec).allow("noop", "attack").arrivals()
    second.restore(first.state())
    assert json.loads(first.state()) == json.loads(second.state())
    for _ in range(20):
        assert first.act(arrivals).action[0] == second.act(arrivals).action[0]


def test_the_presets_are_files_of_the_package() -> None:
    names = {path.stem for path in Path(HERE / "presets").glob("*.yaml")}
    assert names == {"openfront-quick", "openfront", "openfront-stages", "openfront-duel"}
