"""OpenFront from a real checkout, which OPENFRONT_HOME names: pytest -m openfront."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests import browsing, playing

import ludus
from ludus.config.settings import FleetConfig
from ludus.evaluation import arena
from ludus.evaluation.replay import TimelineRequest, replay
from ludus.fleet.fleet import HostFleet
from ludus.games import registry
from ludus.games.openfront import checks
from ludus.games.openfront.game import command
from ludus.games.openfront.options import HOME, OpenFrontOptions, checkout
from ludus.games.showdown import node
from ludus.hostcheck.check import check
from ludus.metrics import reward_terms
from ludus.metrics.exporters import csv

pytestmark = [pytest.mark.openfront, pytest.mark.timeout(600)]

TESTS = sorted((Path(__file__).parents[1] / "openfront").glob("*.test.js"))
QUICK = {"bots": 3, "nations": 1, "max_minutes": 1.5, "feature_set": "summary"}


def options(**more: object) -> OpenFrontOptions:
    return msgspec.convert({**QUICK, **more}, OpenFrontOptions)


def test_the_parts_of_the_host_do_what_the_core_does() -> None:
    run = subprocess.run(
        [str(node.find()), "--expose-gc", "--test", "--test-reporter=tap", *map(str, TESTS)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    counts = {key: int(value) for key, value in re.findall(r"^# (\w+) (\d+)$", run.stdout, re.MULTILINE)}
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert counts["fail"] == counts["skipped"] == 0
    tests = [name for file in TESTS for name in re.findall(r"^test\(", file.read_text(encoding="utf-8"), re.MULTILINE)]
    assert counts["pass"] >= len(tests) > 12


@pytest.mark.parametrize(
    "more", [{"feature_set": "full"}, {"seats": 4, "team_size": 2, "nations": 0}], ids=["full", "teams"]
)
def test_the_host_keeps_the_protocol(more: dict[str, object]) -> None:
    chosen = options(**more)
    report = check(command(chosen), msgspec.to_builtins(chosen), decisions=400)
    assert report.ok, str(report)


def test_the_doctor_names_the_version_and_an_unknown_map_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (finding,) = checks.checks()
    assert finding.state == "ok"
    assert re.search(r"code [0-9a-f]{12}", finding.detail)
    link = tmp_path / "openfront"
    link.symlink_to(checkout())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(HOME, str(link))
    (again,) = checks.checks()
    assert again.detail.split(" (")[0] == finding.detail.split(" (")[0], "the version does not depend on the folder"
    chosen = options(maps=["onoin"])
    with pytest.raises(ludus.errors.LudusError, match="there is no map onoin"), fleet_of(chosen, tmp_path):
        pass


def test_the_doctor_names_in_one_line_what_another_version_lacks(tmp_path: Path) -> None:
    real = checkout()
    for part in real.iterdir():
        if part.name not in ("src", ".git"):
            (tmp_path / part.name).symlink_to(part)
    shutil.copytree(real / "src", tmp_path / "src")
    changes = (
        ("src/core/game/GameImpl.ts", "drainNukeImpacts(", "takeNukeImpacts(", "GameImpl.drainNukeImpacts() of "),
        ("src/core/Schemas.ts", 'z.literal("boat")', 'z.literal("ship")', "the intent boat"),
    )
    for name, old, new, lacking in changes:
        file = tmp_path / name
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")
        finding = checks.probe(tmp_path, node.find())
        file.write_text(text, encoding="utf-8")
        assert finding.state == "missing"
        assert f"does not fit: it lacks {lacking}" in finding.detail
        assert "\n" not in finding.detail
    shutil.rmtree(tmp_path / "src" / "core" / "game")
    assert "has no file src/core/game/Game.ts" in checks.probe(tmp_path, node.find()).detail


def called(*words: str) -> None:
    """Call ludus, which must succeed."""
    run = subprocess.run(
        [sys.executable, "-m", "ludus", *words], capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]


def fleet_of(chosen: OpenFrontOptions, folder: Path, reply_deadline_s: float = 30.0) -> HostFleet:
    return HostFleet(
        command(chosen),
        FleetConfig(backoff_s=0.1, reply_deadline_s=reply_deadline_s),
        options=msgspec.to_builtins(chosen),
        seed=3,
        log_dir=folder,
        hosts=2,
        matches=2,
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hung"])
def test_a_host_that_dies_or_hangs_is_restarted_and_loses_only_its_own_matches(
    number: signal.Signals, tmp_path: Path
) -> None:
    with fleet_of(options(), tmp_path, reply_deadline_s=5.0) as fleet:
        playing.play(fleet, playing.both_finished(fleet))
        victim = fleet.pids[0]
        os.kill(victim, number)
        played = playing.play(fleet, lambda seen: len(seen.voided) >= 2 and playing.both_finished(fleet)(seen))
        assert {playing.host_of(fleet, int(ending.rows[0])) for ending in played.voided} == {0}
        assert fleet.health.restarts == 1
        assert victim not in fleet.pids


@pytest.mark.parametrize(("player", "least"), [("cautious", 4), ("expander", 5)])
def test_scripted_players_beat_bots(player: str, least: int, tmp_path: Path) -> None:
    game = registry.load("openfront")
    chosen = options(bots=10, nations=0, max_minutes=20.0, diplomacy=False)
    results = arena.play(
        game,
        chosen,
        lambda spec: {player: game.scripted[player](spec, 1)},
        agent=player,
        opponents=[],
        matches=6,
        seed=7,
        log_dir=tmp_path,
        fleet=FleetConfig(matches=3),
        hosts=2,
    )
    assert results[0].wins >= least


def test_a_run_trains_is_evaluated_and_its_match_is_watched(tmp_path: Path) -> None:
    settings = {
        "options.max_minutes": 1,
        "learner.decisions": 512,
        "learner.minibatch": 256,
        "fleet.matches": 2,
        "budget.updates": 2,
        "budget.minutes": 0,
        "evaluation.matches": 2,
        "evaluation.quick_matches": 2,
    }
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    called("train", "openfront-quick", "--run-dir", str(tmp_path / "run"), *words)
    results = ludus.evaluate(tmp_path / "run", matches=4, save_replays=tmp_path / "replays")
    assert results[0].matches == 4
    assert results[0].voided == 0
    saved = sorted((tmp_path / "replays").glob("*.json"))
    assert str(checkout()) not in saved[0].read_text(encoding="utf-8"), "paths of this machine are not saved"
    called("replay", str(saved[0]), "--value", str(tmp_path / "run"))
    rows = csv.read(tmp_path / "run" / "progress.csv")
    assert {curve.name for curve in reward_terms.terms(rows)} == {"win", "loss", "land", "kill"}
    replayed = replay(saved[0], rewards=TimelineRequest(tmp_path / "run")).timeline
    assert replayed is not None
    assert set(replayed.terms) == {"win", "loss", "land", "kill"}
    assert np.allclose(sum(replayed.terms.values()), replayed.reward, atol=1e-5)
    assert replayed.terms["land"].any()
    assert replayed.value is not None
    assert np.isfinite(replayed.value[:-1]).all()
    (page,) = (tmp_path / "replays").glob("*.html")
    if (executable := browsing.find()) is None:
        return
    with browsing.browser(executable, tmp_path) as started:
        started.open(page.as_uri())
        started.wait("document.readyState === 'complete' && document.querySelectorAll('#players tbody tr').length > 2")
        assert started.js("Number(document.getElementById('time').max)") > 10
        started.wait("document.querySelector('img[alt^=\"Reward terms\"]').naturalWidth > 500")
        assert not [message for message in started.messages if "rror" in message]
