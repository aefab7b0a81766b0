"""Hosts in every language name their entities and options in the layout, and the net `entities` is built from it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ludus.config.settings import FleetConfig, PolicyConfig
from ludus.fleet.fleet import HostFleet
from ludus.games.toy.game import game
from ludus.games.toy.options import ToyOptions
from ludus.policies.nets import build
from ludus.policies.nets.lists import lists_of
from ludus.policies.network import NetPolicy
from ludus.processes.command import HostCommand

SDK = Path(__file__).parents[2] / "src" / "ludus" / "sdk"
DUEL_IN_JAVASCRIPT = """
const { serve } = require(process.env.LUDUS_SDK);
const obs = [{ card: [1, 2, 0], guards: [2, 0, 0], choice: [2, 1] }];
const ask = () => ({ seats: [0], obs, legal: [[true, true]], reward: [0] });
serve({ options: {}, setUp: () => ({
	name: 'duel', seats: 1, actions: 2, schema: 1,
	obs: [['card', 'uint8', [3]], ['guards', 'uint8', [3]], ['choice', 'uint8', [2]]],
	layout: {
		entities: { cards: ['card', 'guards'] }, options: ['choice'], refers: { guards: 'cards', choice: 'cards' },
	},
	tables: { card: { shape: [3, 2], data: [0, 0, 1, 0.5, 1, 2] } },
	newMatch: () => ({ start: ask, advance: ask }),
}) });
"""
DUEL_IN_JAVA = """
import java.util.List;
import java.util.Map;

public final class Duel implements Host.Setup {
    public Host.Game setUp(Host.Options options) {
        List<Host.Leaf> obs = List.of(
            new Host.Leaf("card", "uint8", 3), new Host.Leaf("guards", "uint8", 3),
            new Host.Leaf("choice", "uint8", 2));
        Host.Game game = new Host.Game("duel", 1, 2, 1, obs, Match::new);
        game.layout = Map.of(
            "entities", Map.of("cards", List.of("card", "guards")), "options", List.of("choice"),
            "refers", Map.of("guards", "cards", "choice", "cards"));
        return game;
    }

    private static final class Match implements Host.Match {
        public Host.Turn start(long seed) {
            Map<String, double[]> obs = Map.of(
                "card", new double[] {1, 2, 0}, "guards", new double[] {2, 0, 0}, "choice", new double[] {2, 1});
            return Host.Turn.next().ask(0, obs, new boolean[] {true, true});
        }

        public Host.Turn advance(Map<Integer, Integer> actions) {
            return start(0);
        }
    }
}
"""
needs_java = pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK on this machine")


@pytest.fixture(params=["python", "javascript", pytest.param("java", marks=needs_java)])
def command(request: pytest.FixtureRequest, tmp_path: Path) -> HostCommand:
    if request.param == "python":
        return game.command(ToyOptions(game="cards"))
    if request.param == "javascript":
        (tmp_path / "duel.js").write_text(DUEL_IN_JAVASCRIPT)
        return HostCommand(("node", str(tmp_path / "duel.js")), {"LUDUS_SDK": str(SDK / "javascript")})
    (tmp_path / "Duel.java").write_text(DUEL_IN_JAVA)
    sources = [*map(str, (SDK / "java").glob("*.java")), str(tmp_path / "Duel.java")]
    subprocess.run(["javac", "-d", str(tmp_path), *sources], check=True, timeout=100)
    return HostCommand(("java", "-XX:TieredStopAtLevel=1", "-cp", str(tmp_path), "Host", "Duel"))


def test_the_net_plays_what_a_host_describes(command: HostCommand, tmp_path: Path) -> None:
    options = {"game": "cards"} if "ludus.games.toy.host" in command.argv else {}
    with HostFleet(command, FleetConfig(), options=options, seed=1, log_dir=tmp_path, hosts=1, matches=2) as fleet:
        arrivals = fleet.recv(20.0)
        lists = lists_of(fleet.spec)
        assert lists.has_options
        assert len(lists.refers) == 2
        net = build(fleet.spec, PolicyConfig(net="entities", width=16, layers=1), "mlp")
        choices = NetPolicy(net, fleet.spec).act(arrivals)
        assert arrivals.legal[np.arange(len(arrivals)), choices.action].all()
