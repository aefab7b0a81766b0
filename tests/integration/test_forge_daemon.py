"""Games on Forge daemons: a daemon of ours that keeps the line protocol, and breaks it on request."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import psutil
import pytest
from tests.commands import ludus_here
from tests.forge_daemon import FAULTS, Daemon

from ludus.config.settings import FleetConfig, ServersConfig
from ludus.data.dataset import Dataset
from ludus.errors import ConfigError, FleetError
from ludus.fleet.fleet import HostFleet
from ludus.games.forge.daemon_game import command, game
from ludus.games.forge.daemon_options import DaemonOptions
from ludus.games.forge.daemon_view import spec_of
from ludus.games.registry import ServersHealth
from ludus.hostcheck.check import CheckReport, results
from ludus.processes.command import HostCommand
from ludus.spec import GameSpec
from ludus.types import Ending, Policy

ROOT = Path(__file__).parents[2]
DECKS = ("red.dck", "green.dck")
PROGRAM = (sys.executable, str(ROOT / "tests" / "forge_daemon.py"))
LOST = {
    "half": "closed the connection in the middle of a line",
    "garbage": "sent a decision that cannot be read",
    "hang": "sent nothing for 1 s",
    "close": "closed the connection before the result",
    "oversized": "sent a line of more than 1,024 KiB",
    "wrong_type": "asked for 'choose_fate', which is no type of decision",
    "error": "reported an error in the game: java.lang.NullPointerException",
    "rename": "renamed its players from",
    "noise": "unknown lines, the last one 'what is this'",
    "result": "names the winner 'Somebody else', who is not one of",
}


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    with Daemon(0) as running:
        yield running


def options(*daemons: str, **changes: object) -> DaemonOptions:
    return msgspec.structs.replace(DaemonOptions(daemons=daemons, decks=DECKS, silent_s=20), **changes)


def played(
    options: DaemonOptions, folder: Path, endings: int, policy: str = "random", matches: int = 4
) -> list[Ending]:
    """Return the first endings of a fleet that plays these options."""
    ended: list[Ending] = []
    sent = msgspec.to_builtins(options)
    with HostFleet(
        command(options),
        FleetConfig(failures_in_a_row=1),
        options=sent,
        seed=1,
        log_dir=folder,
        hosts=1,
        matches=matches,
    ) as fleet:
        player: Policy = game.scripted[policy](fleet.spec, 1)
        while len(ended) < endings:
            arrivals = fleet.recv(20.0)
            assert len(arrivals) or arrivals.endings, "the fleet is silent"
            ended += arrivals.endings
            if len(arrivals):
                assert arrivals.legal.sum(1).min() >= 2  # forced choices are not asked
                fleet.send(arrivals.row, player.act(arrivals).action)
    return ended


def test_games_are_played_to_their_results(daemon: Daemon, tmp_path: Path) -> None:
    ended = played(options(daemon.address), tmp_path, 24)  # so many that both seats win some
    assert [each.void for each in ended] == [""] * 24
    assert {tuple(each.score) for each in ended} >= {(1.0, 0.0), (0.0, 1.0)}
    assert all(sum(each.score) == 1 for each in ended)
    assert all(each.facts["replies_refused"] == 0 for each in ended)
    assert max(each.facts["turns"] for each in ended) > 5


def test_a_curve_player_beats_a_random_one_over_the_wire(daemon: Daemon, tmp_path: Path) -> None:
    wins: list[float] = []
    sent = msgspec.to_builtins(options(daemon.address))
    fleet_of = HostFleet(
        command(options(daemon.address)), FleetConfig(), options=sent, seed=3, log_dir=tmp_path, hosts=1, matches=4
    )
    with fleet_of as fleet:
        curve, chance = (game.scripted[name](fleet.spec, 1) for name in ("curve", "random"))
        while len(wins) < 20:
            arrivals = fleet.recv(20.0)
            wins += [each.score[0] for each in arrivals.endings]
            if len(arrivals):
                action = np.where(arrivals.row % 2 == 0, curve.act(arrivals).action, chance.act(arrivals).action)
                fleet.send(arrivals.row, action.astype(np.int32))
    assert np.mean(wins) > 0.75


@pytest.mark.parametrize("fault", sorted(LOST))
def test_a_broken_game_is_lost_for_its_reason_and_the_others_go_on(fault: str, tmp_path: Path) -> None:
    with Daemon(0, fault=fault, every=3) as daemon:
        ended = played(options(daemon.address, silent_s=1 if fault == "hang" else 20), tmp_path, 9)
    voids = [each.void for each in ended if each.void]
    assert 1 <= len(voids) <= 5
    assert all(LOST[fault] in each for each in voids), voids


def test_every_fault_of_the_daemon_is_tried() -> None:
    assert {*LOST, "timeout"} == set(FAULTS)


def test_a_game_that_timed_out_is_truncated(tmp_path: Path) -> None:
    with Daemon(0, fault="timeout", every=2) as daemon:
        ended = played(options(daemon.address), tmp_path, 8)
    assert {each.void for each in ended} == {""}
    assert {tuple(each.score) for each in ended if each.truncated} == {(0.5, 0.5)}
    assert 2 <= sum(each.truncated for each in ended) <= 6


def test_a_daemon_that_is_not_there_is_named(tmp_path: Path) -> None:
    with Daemon(0) as daemon:
        address = daemon.address
    with pytest.raises(FleetError, match=f"the daemon at {address} cannot be reached"):
        played(options(address), tmp_path, 1)


def test_a_deck_that_the_daemon_refuses_is_named(daemon: Daemon, tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="began no game: Deck not found"):
        played(options(daemon.address, decks=("missing.dck",)), tmp_path, 1)


def test_a_connection_serves_several_games_only_if_the_daemon_announces_it(daemon: Daemon, tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="does not announce `Persistent: true`"):
        played(options(daemon.address, persistent=True), tmp_path, 1)
    with Daemon(0, persistent=True, fault="close", every=5) as lasting:
        ended = played(options(lasting.address, persistent=True), tmp_path, 9)
    assert 6 <= [each.void for each in ended].count("") < 9  # a lost game does not harm the next


def test_the_game_of_the_ai_is_followed_and_can_be_repeated(daemon: Daemon, tmp_path: Path) -> None:
    ended = played(options(daemon.address, observe=True), tmp_path, 4, "forge_ai")
    assert [each.void for each in ended] == [""] * 4
    assert [each.facts["choices_unmatched"] for each in ended] == [0.0] * 4
    assert [(each.facts["cards_cut"], each.facts["options_cut"]) for each in ended] == [(0.0, 0.0)] * 4
    others = played(options(daemon.address, observe=True), tmp_path, 3, "random")
    assert all("only the policy scripted:forge_ai" in each.void for each in others)
    with pytest.raises(ConfigError, match=r"options\.observe=true"):
        played(options(daemon.address), tmp_path, 1, "forge_ai")


def restarted(health: Callable[[], ServersHealth | None], deadline_s: float) -> tuple[int, int]:
    """Wait until a server was started again. Returns how many were, and how many are alive."""
    while True:
        view = health()
        assert view is not None
        if (view.restarts and view.alive == view.total) or time.monotonic() > deadline_s:
            return view.restarts, view.alive


def test_daemons_are_started_on_free_ports_and_started_again(tmp_path: Path) -> None:
    started = options(program=PROGRAM)
    with game.served(started, ServersConfig(count=2), tmp_path) as served:
        assert len(set(served.options.daemons)) == 2
        psutil.Process(min(served.pids())).kill()
        assert restarted(served.health, time.monotonic() + 20) == (1, 2)
        ended = played(served.options, tmp_path, 6)
        pids = list(served.pids())
    assert [each.void for each in ended].count("") >= 4
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_a_program_that_is_no_daemon_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(FleetError, match=r"a Forge daemon exited with status 3; its log is .*daemon-0\.log"),
        game.served(options(program=(sys.executable, "-c", "raise SystemExit(3)")), ServersConfig(count=1), tmp_path),
    ):
        pass


def test_the_host_keeps_the_protocol(daemon: Daemon) -> None:
    command_line = (sys.executable, "-m", "ludus.games.forge.daemon_host")
    sent = {"daemons": daemon.address, "decks": list(DECKS), "seeded": True}
    report = CheckReport(tuple(results(HostCommand(command_line), sent, matches=2, decisions=60)))
    assert report.ok, str(report)


def test_a_net_learns_to_play_like_the_ai_from_recorded_games(daemon: Daemon, tmp_path: Path) -> None:
    decks = ("--set", "options.decks=[red.dck,green.dck]", "--set", f"options.daemons={daemon.address}")
    data, run = str(tmp_path / "data"), str(tmp_path / "run")
    ai = ("--game", "forge-daemon", "--a", "scripted:forge_ai", "--set", "options.observe=true", "--workers", "1")
    ludus_here(tmp_path, "generate", *ai, *decks, "--matches", "20", "--out", data)
    assert not Dataset.open(tmp_path / "data").manifest.replayable
    settings = (
        *("device=cpu", "servers.count=0", "fleet.matches=4", "budget.updates=25", "data.folder=" + data),
        *("learner.algorithm=bc", "learner.decisions=256", "learner.minibatch=128", "learner.lr=3e-3"),
        *("policy.width=16", "policy.layers=1", "policy.heads=2", "evaluation.opponents=[random]"),
        *("evaluation.matches=20", "evaluation.every_updates=1000000"),
    )
    sets = [word for setting in settings for word in ("--set", setting)]
    ludus_here(tmp_path, "train", "forge-daemon", *decks, *sets, "--run-dir", run)
    last = json.loads((tmp_path / "run" / "evaluations.jsonl").read_text().splitlines()[-1])
    (score,) = last["scores"]
    assert score["wins"] >= 15, last


def test_the_spec_fits_into_four_kilobytes_a_row() -> None:
    spec: GameSpec = spec_of()
    assert spec.obs.nbytes + spec.actions // 8 <= 4096
