"""The real Showdown host in a fleet: whole battles, seeds, schedules, teams, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ludus.config.settings import FleetConfig
from ludus.errors import HostRefused
from ludus.fleet.fleet import HostFleet
from ludus.fleet.shared_rows import RowMemory
from ludus.games.registry import load
from ludus.games.showdown.game import FORMATS
from ludus.games.showdown.install import Installation
from ludus.types import Arrivals, Ending
from ludus.wire.bodies import Configure
from ludus.wire.frames import HEADER, FrameKind, encode_configure, encode_stop

TEAMS = Path(__file__).parents[1] / "data" / "teams"
DEADLINE_S = 100.0
RECV_S = 20.0
pytestmark = pytest.mark.usefixtures("showdown")


@contextmanager
def fleet(
    tmp_path: Path,
    options: Mapping[str, object],
    schedule: Sequence[tuple[int, int]] | None = None,
    matches: int = 4,
) -> Iterator[HostFleet]:
    game = load("showdown")
    command = game.command(game.options())
    with HostFleet(
        command,
        FleetConfig(),
        options=options,
        seed=5,
        log_dir=tmp_path,
        hosts=1,
        matches=matches,
        schedule=schedule,
        keep_log=schedule is not None,
    ) as running:
        yield running


@pytest.mark.skipif(not RowMemory.available, reason="files without a name are Linux's")
def test_rows_left_in_shared_memory_are_those_that_would_have_been_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []
    look = RowMemory.next_rows

    def noted(memory: RowMemory, count: int) -> NDArray[np.uint8]:
        left.append(count)
        return look(memory, count)

    monkeypatch.setattr(RowMemory, "next_rows", noted)
    records = []
    for shared in (True, False):
        monkeypatch.setattr(RowMemory, "available", shared)
        left.clear()
        with fleet(tmp_path, {"format": "gen9randombattle"}) as running:
            player, seen, rows = Player(), [], []
            for _ in range(150):
                arrivals = running.recv(RECV_S, wait_all=True)
                seen.append((arrivals.row.tobytes(), arrivals.legal.tobytes(), arrivals.obs.tobytes()))
                rows.append(len(arrivals))
                running.send(arrivals.row, player.act(arrivals))
            assert not running.health.voided
        records.append(seen)
        assert sum(left) == (sum(rows[1:]) if shared else 0)  # all but the opening
    assert records[0] == records[1]


class Player:
    """Random legal actions that depend on the match, the seat and how often it has chosen, not on who arrives when."""

    def __init__(self) -> None:
        self.chosen: dict[tuple[int, int], int] = {}
        self.earned: dict[tuple[int, int], float] = {}
        self.opened: dict[tuple[int, int], NDArray[np.bool_]] = {}

    def act(self, arrivals: Arrivals) -> NDArray[np.int32]:
        actions = np.zeros(len(arrivals), np.int32)
        for i in range(len(arrivals)):
            key = int(arrivals.match[i]), int(arrivals.row[i] % 2)
            assert bool(arrivals.opens[i]) == (key not in self.chosen)
            self.opened.setdefault(key, arrivals.legal[i].copy())
            count = self.chosen[key] = self.chosen.get(key, 0) + 1
            self.earned[key] = self.earned.get(key, 0.0) + float(arrivals.reward[i])
            legal = np.flatnonzero(arrivals.legal[i])
            actions[i] = np.random.default_rng((*key, count)).choice(legal)
        return actions


def play(running: HostFleet, matches: int, player: Player | None = None, *, one_by_one: bool = False) -> list[Ending]:
    """Until that many matches have ended; with `one_by_one` rows are answered singly, the last first."""
    player = player or Player()
    endings: list[Ending] = []
    until_s = time.monotonic() + DEADLINE_S
    while len(endings) < matches:
        assert time.monotonic() < until_s, f"{len(endings)} of {matches} matches ended in {DEADLINE_S} s"
        arrivals = running.recv(RECV_S)
        endings.extend(arrivals.endings)
        actions = player.act(arrivals)
        if not one_by_one:
            running.send(arrivals.row, actions)
            continue
        for i in reversed(range(len(arrivals))):
            running.send(arrivals.row[i : i + 1], actions[i : i + 1])
    return endings


def summary(endings: Sequence[Ending]) -> list[tuple[object, ...]]:
    ordered = sorted(endings, key=lambda ending: ending.match)
    return [(e.match, e.seed, e.score.tolist(), e.reward.tolist(), dict(e.facts), e.log) for e in ordered]


@pytest.mark.parametrize(
    ("game_format", "actions"),
    [
        ("gen1randombattle", 10),
        ("gen4randombattle", 10),
        ("gen7randombattle", 18),
        ("gen9randombattle", 14),
        ("gen9randomdoublesbattle", 2209),
        ("gen1ou", 10),
        ("gen9ou", 14),
        ("gen8doublesou", 2209 + 15),
        ("gen9vgc2025regi", 2209 + 90),
    ],
)
def test_battles_are_played_to_the_end(tmp_path: Path, game_format: str, actions: int) -> None:
    options = {"format": game_format}
    if "random" not in game_format:
        options["teams"] = str(TEAMS / game_format)
    with fleet(tmp_path, options, [(i, 100 + i) for i in range(3)]) as running:
        assert running.spec.actions == actions
        endings = play(running, 3)
    assert sorted(ending.match for ending in endings) == [0, 1, 2]
    for ending in endings:
        assert sorted(ending.score) in ([0.0, 1.0], [0.5, 0.5])
        assert ending.facts["turns"] > 1
        assert ending.facts["moves"] + ending.facts["switches"] > 0
        assert ending.facts["decisions"] == ending.facts["decisions_0"] + ending.facts["decisions_1"]
        assert "|win|Player" in ending.log or "|tie" in ending.log


def test_the_same_seed_and_actions_give_the_same_match_in_whatever_order_they_come(tmp_path: Path) -> None:
    schedule = [(i, 7 * i + 1) for i in range(3)]
    options = {"format": "gen7randombattle"}
    with fleet(tmp_path, options, schedule) as running:
        first = play(running, 3)
    with fleet(tmp_path, options, schedule, matches=2) as running:
        second = play(running, 3, one_by_one=True)
    assert summary(first) == summary(second)


def test_the_stock_engine_plays_the_same_matches(tmp_path: Path) -> None:
    schedule = [(i, 11 * i) for i in range(2)]
    played = []
    for stock in (False, True):
        with fleet(tmp_path, {"format": "gen9randombattle", "stock_engine": stock}, schedule) as running:
            played.append(summary(play(running, 2)))
    assert played[0] == played[1]


def test_a_schedule_is_played_once_with_its_own_numbers_and_seeds(tmp_path: Path) -> None:
    schedule = [(900, 3), (800, 1), (700, 2)]
    with fleet(tmp_path, {"format": "gen1randombattle", "max_turns": 10}, schedule, matches=2) as running:
        endings = play(running, 3)
        assert len(running.recv(0.2)) == 0
        assert running.health.exhausted
    assert sorted((ending.match, ending.seed) for ending in endings) == [(700, 2), (800, 1), (900, 3)]


def test_choices_refused_for_hidden_reasons_are_asked_again_and_counted(tmp_path: Path) -> None:
    player = Player()
    with fleet(tmp_path, {"format": "gen9randombattle"}, [(i, i) for i in range(8)]) as running:
        endings = play(running, 8, player)
    refused = sum(ending.facts["refused"] for ending in endings)
    assert refused > 0
    assert sum(player.chosen.values()) == sum(ending.facts["decisions"] for ending in endings) + refused


def test_a_long_match_is_truncated_with_what_the_seats_saw_last(tmp_path: Path) -> None:
    with fleet(tmp_path, {"format": "gen9randombattle", "max_turns": 5}, [(0, 1)]) as running:
        (ending,) = play(running, 1)
        nbytes = running.spec.obs.nbytes
    assert ending.truncated
    assert ending.facts["turns"] == 6
    assert tuple(ending.score) == (0.5, 0.5)
    assert ending.final_obs is not None
    assert ending.final_obs.shape == (2, nbytes)
    assert ending.final_obs.any(axis=1).all()


@pytest.mark.parametrize(("win", "shaping"), [(1.0, 0.0), (2.0, 0.5)])
def test_rewards_are_the_result_and_the_change_of_potential(tmp_path: Path, win: float, shaping: float) -> None:
    player = Player()
    options = {"format": "gen1randombattle", "reward_win": win, "reward_shaping": shaping}
    with fleet(tmp_path, options, [(i, i) for i in range(4)]) as running:
        endings = play(running, 4, player)
    for ending in endings:
        before = [player.earned[(ending.match, seat)] for seat in range(2)]
        total = before + ending.reward
        result = win * (2 * ending.score - 1)
        assert total.sum() == pytest.approx(0.0, abs=1e-4)
        assert np.all(np.abs(total - result) <= shaping + 1e-4)
        assert (before == [0.0, 0.0]) == (shaping == 0.0)
        if shaping:
            assert np.sign(total).tolist() == np.sign(result).tolist()


def test_team_preview_is_a_decision_of_its_own(tmp_path: Path) -> None:
    player = Player()
    options = {"format": "gen9vgc2025regi", "teams": str(TEAMS / "gen9vgc2025regi")}
    with fleet(tmp_path, options, [(0, 1)]) as running:
        spec = running.spec
        play(running, 1, player)
    assert spec.layout["preview"] == 90
    assert spec.tables["preview"].shape == (90, 4)
    for legal in player.opened.values():
        assert np.flatnonzero(legal).tolist() == list(range(2209, 2299))


def test_teams_are_drawn_by_the_seed_of_the_match(tmp_path: Path) -> None:
    options = {"format": "gen9ou", "teams": str(TEAMS / "gen9ou"), "max_turns": 1}
    with fleet(tmp_path, options, [(i, i) for i in range(12)]) as running:
        endings = play(running, 12)
    sizes = {tuple(line for line in e.log.split("\n") if line.startswith("|teamsize|")) for e in endings}
    assert len(sizes) == 4  # of six or of four Pokemon, for either seat


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"format": "gen1randombatle"}, "did you mean gen1randombattle"),
        ({"format": "gen9ou"}, "gen9ou needs teams"),
        ({"format": "gen9randombattle", "teams": "anywhere"}, "makes its own teams"),
        ({"format": "gen9ou", "teams": "missing-folder"}, "cannot be read"),
    ],
)
def test_options_that_cannot_work_are_refused(tmp_path: Path, options: dict[str, object], words: str) -> None:
    with pytest.raises(HostRefused, match=words), fleet(tmp_path, options):
        pass


def test_an_empty_team_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HostRefused, match="has no team"), fleet(tmp_path, {"format": "gen9ou", "teams": str(tmp_path)}):
        pass


def test_a_team_that_breaks_the_rules_is_refused_with_its_file_and_the_reason(tmp_path: Path) -> None:
    good = (TEAMS / "gen1ou" / "standard.txt").read_text()
    (tmp_path / "good.txt").write_text(good)
    (tmp_path / "sleepy-tauros.txt").write_text(good.replace("- Hyper Beam", "- Spore"))
    with (
        pytest.raises(HostRefused, match=r"sleepy-tauros\.txt: Tauros can't learn Spore"),
        fleet(tmp_path, {"format": "gen1ou", "teams": str(tmp_path)}),
    ):
        pass


def test_the_listed_formats_exist(showdown: Installation) -> None:
    script = (
        "const {Dex} = require(process.argv[1]); const names = JSON.parse(process.argv[2]);"
        "console.log(JSON.stringify(names.filter(name => Dex.formats.get(name).effectType === 'Format')))"
    )
    asked = [str(showdown.node), "-e", script, str(showdown.root), json.dumps(FORMATS)]
    said = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(said.stdout) == list(FORMATS)


def frame_of(output: bytes) -> tuple[int, dict[str, object]]:
    """FrameKind and message of the first frame."""
    _, _, kind, size = HEADER.unpack_from(output)
    message: dict[str, object] = json.loads(output[HEADER.size : HEADER.size + size])
    return kind, message


def test_the_end_of_its_input_and_stop_end_the_host_quietly() -> None:
    game = load("showdown")
    argv = game.command(game.options()).argv
    configure = encode_configure(Configure(matches=1, options={"format": "gen1randombattle"}, seed=1))
    for said in (b"", bytes(encode_stop()), bytes(configure) + bytes(encode_stop())):
        run = subprocess.run(argv, input=said, capture_output=True, timeout=60, check=False)
        assert run.returncode == 0, run.stderr
    assert frame_of(run.stdout)[0] == FrameKind.HELLO


def test_bytes_that_are_no_frame_end_the_host_with_an_error_frame() -> None:
    game = load("showdown")
    argv = game.command(game.options()).argv
    run = subprocess.run(argv, input=b"not a frame at all", capture_output=True, timeout=60, check=False)
    kind, message = frame_of(run.stdout)
    assert run.returncode == 1
    assert kind == FrameKind.ERROR
    assert message["kind"] == "internal"
    assert "frame begins with" in str(message["message"])
