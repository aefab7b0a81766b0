"""Search on the real simulator: the player `expert`, and a net that thinks."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from ludus.api import generating
from ludus.config.settings import FleetConfig, PolicyConfig
from ludus.data.dataset import Dataset
from ludus.errors import ConfigError, HostError
from ludus.evaluation import arena
from ludus.fleet.fleet import HostFleet
from ludus.games import registry
from ludus.games.showdown.game import ShowdownOptions, command
from ludus.games.showdown.scripted.expert import Expert
from ludus.games.showdown.search.thinking import ThinkingPolicy
from ludus.policies import nets
from ludus.policies.network import NetPolicy
from ludus.spec import GameSpec

GAME = registry.load("showdown")
PLENTY_MS = 60_000.0
pytestmark = pytest.mark.usefixtures("showdown")


def untrained(spec: GameSpec) -> NetPolicy:
    torch.manual_seed(3)
    net = nets.build(spec, PolicyConfig(width=16, context=32), GAME.net, game_nets=registry.nets_of(GAME))
    return NetPolicy(net, spec, greedy=True)


@pytest.mark.parametrize("battle", ["gen1randombattle", "gen9randombattle"])
def test_expert_beats_random(battle: str, tmp_path: Path) -> None:
    made: list[Expert] = []

    def policies(spec: GameSpec) -> dict[str, object]:
        made.append(Expert(spec, 1, worlds=1, limit_ms=PLENTY_MS))
        return {"agent": made[0], "random": GAME.scripted["random"](spec, 1)}

    results = arena.play(
        GAME,
        ShowdownOptions(format=battle),
        policies,  # type: ignore[arg-type]  # the values are policies
        agent="agent",
        opponents=("random",),
        matches=2,
        seed=3,
        log_dir=tmp_path,
        hosts=1,
    )
    made[0].close()
    assert results[0].wins == 2
    assert made[0].decisions > 20
    assert made[0].cut <= made[0].decisions / 10  # worlds that could not be built


def test_a_net_thinks_and_finds_the_same_again(tmp_path: Path) -> None:
    options = ShowdownOptions(format="gen9randombattle")
    with HostFleet(
        command(options),
        FleetConfig(hosts=1),
        options=msgspec.to_builtins(options),
        seed=5,
        log_dir=tmp_path,
        matches=2,
        schedule=[(0, 50), (1, 51)],
    ) as fleet:
        thinkers = [ThinkingPolicy(untrained(fleet.spec), fleet.spec, PLENTY_MS, worlds=2) for _ in range(2)]
        changed = 0
        for _ in range(12):
            arrivals = fleet.recv(60.0)
            if not len(arrivals):
                break
            action = thinkers[0].act(arrivals).action
            assert arrivals.legal[np.arange(len(arrivals)), action].all()
            assert (thinkers[1].act(arrivals).action == action).all()
            changed += int((action != thinkers[0].policy.act(arrivals).action).sum())
            fleet.send(arrivals.row, action)
        assert thinkers[0].searched > 10
        assert thinkers[0].cut <= 2
        assert thinkers[0].worlds_seen > thinkers[0].searched
        assert changed > 0
        for thinker in thinkers:
            thinker.close()


def test_decisions_of_a_search_are_recorded_in_a_dataset(tmp_path: Path) -> None:
    told: list[str] = []
    matchup = generating.resolve("gen1-best", None, matches=2, think_ms=30.0)
    result = generating.play(matchup, tmp_path / "searched", workers=1, tell=told.append)
    plain = generating.generate("gen1-best", matches=2, out=tmp_path / "plain", workers=1)
    assert result.finished
    assert len(told) == 1
    searched = int(told[0].split(":")[1].split()[0])
    assert 10 < searched <= result.decisions
    assert [each.think_ms for each in Dataset.open(tmp_path / "searched").manifest.policies] == [30.0]
    assert [each.think_ms for each in Dataset.open(tmp_path / "plain").manifest.policies] == [0.0]
    assert plain.finished
    with pytest.raises(ConfigError, match="made with other policies"):
        generating.generate("gen1-best", matches=4, out=tmp_path / "searched", workers=1, resume=True)


def test_who_cannot_search_is_refused_before_anything_is_played() -> None:
    with pytest.raises(ConfigError, match="--think-ms: scripted policies do not search"):
        generating.resolve("scripted:heuristic", None, matches=2, think_ms=30.0)
    with pytest.raises(ConfigError, match=r"--think-ms: tcp://127\.0\.0\.1:1/a is on a server"):
        generating.resolve("gen1-best", "tcp://127.0.0.1:1/a", matches=2, think_ms=30.0)


def test_a_spec_that_does_not_name_its_format_is_refused(tmp_path: Path) -> None:
    options = ShowdownOptions(format="gen1randombattle")
    with HostFleet(
        command(options),
        FleetConfig(hosts=1),
        options=msgspec.to_builtins(options),
        seed=5,
        log_dir=tmp_path,
        matches=1,
    ) as fleet:
        spec = fleet.spec
        assert spec.facts["format"] == "gen1randombattle"
        nameless = GameSpec(spec.name, spec.seats, spec.actions, spec.obs, spec.schema, spec.layout, spec.tables)
        thinker = ThinkingPolicy(untrained(spec), nameless, PLENTY_MS)
        with pytest.raises(HostError, match="make their own teams"):
            thinker.act(fleet.recv(60.0))
