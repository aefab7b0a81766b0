from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.faulty.game import game as faulty
from tests.faulty.options import FaultyOptions
from typer.testing import CliRunner

from ludus.actors.resolved import resolve
from ludus.cli import sizes
from ludus.cli.main import app
from ludus.config import load
from ludus.config.settings import RunConfig
from ludus.diagnostics import machine, sizing
from ludus.diagnostics.sizing import MachineSize, Purpose
from ludus.errors import ConfigError
from ludus.processes.cores import cores


@pytest.fixture(autouse=True)
def _a_machine_of_sixteen_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "look", lambda machine: MachineSize(16, 64 * 1024, "cpu"))


def sized(purpose: Purpose, data: dict[str, Any], *sets: str, shipped: bool = False) -> RunConfig:
    """As `ludus train` does it."""
    first = resolve(load.override(data, sets))
    chosen = sizes.choose(purpose, first, sizes.fixed_settings(data, sets, shipped=shipped))
    return resolve(sizes.under(data, chosen, sets), first.machine).config


def test_sizes_are_chosen_for_what_the_configuration_leaves_open() -> None:
    config = sized("dev", {"game": "showdown", "fleet": {"matches": 12}, "learner": {"lr": 0.5}})
    assert (config.fleet.hosts, config.fleet.matches, config.budget.minutes) == (8, 12, 10)
    assert (config.learner.lr, config.learner.decisions, config.learner.minibatch) == (0.5, 4096, 512)


def test_a_file_and_sets_win_over_the_machine_and_sets_over_all() -> None:
    data = {"game": "showdown", "fleet": {"hosts": 3}, "budget": {"minutes": 7}}
    config = sized("overnight", data, "learner.decisions=2048", "fleet.hosts=5")
    assert (config.fleet.hosts, config.budget.minutes, config.learner.decisions) == (5, 7, 2048)


def test_how_long_a_preset_of_a_game_takes_gives_way_unless_it_is_set() -> None:
    data = {"game": "showdown", "budget": {"minutes": 7}}
    assert sized("overnight", data, shipped=True).budget.minutes == 480
    assert sized("overnight", data, "budget.minutes=3", shipped=True).budget.minutes == 3


def test_hosts_that_the_configuration_leaves_to_the_machine_are_chosen() -> None:
    assert sized("full", {"game": "showdown", "fleet": {"hosts": 0}}).fleet.hosts == 12


def test_environments_in_all_keep_their_number() -> None:
    config = sized("full", {"game": "showdown"}, "n_envs=24")
    assert config.fleet.hosts * config.fleet.matches == 24
    assert config.learner.decisions >= 4096


def test_every_choice_is_shown_with_its_reason() -> None:
    run = resolve({"game": "showdown", "fleet": {"matches": 12}})
    chosen = sizes.choose("quick", run, {"fleet": {"matches": 12}})
    console = Console(width=140)
    with console.capture() as shown:
        console.print(sizes.table("quick", chosen))
    lines = shown.get()
    assert "a quarter of 16 cores" in lines
    assert "set in the configuration" in lines
    assert "known of showdown" in lines
    assert all(choice.setting in lines for choice in chosen.choices)


def test_what_is_no_purpose_or_has_its_sizes_already_is_refused(tmp_path: Path) -> None:
    for words, message in (
        (["nim", "--size", "gen1"], "--size: 'gen1' is none of quick, dev, full, overnight"),
        (["--run-dir", str(tmp_path), "--resume", "--size", "dev"], "a resumed run keeps its sizes"),
    ):
        (tmp_path / "config.yaml").write_text("game: toy\n")
        result = CliRunner().invoke(app, ["train", *words])
        assert isinstance(result.exception, ConfigError)
        assert message in str(result.exception)


def test_options_are_accepted_by_their_old_names_with_a_note() -> None:
    for words, note, message in (
        (["train", "nim", "--preset", "gen1"], "--preset is now called --size", "--size: 'gen1' is none of"),
        (
            ["bench", "scale", "--game", "toy", "--asked", "2", "--budget", "1s"],
            "called --min-matches",
            "--budget: 1 s",
        ),
    ):
        result = CliRunner().invoke(app, words)
        assert note in result.stderr
        assert message in str(result.exception)


def test_a_host_of_which_nothing_is_known_is_measured() -> None:
    needs = machine.needs(resolve({"game": "toy", "options": {"game": "nim"}}))
    assert 10 < needs.host_mib < 500
    assert 0 <= needs.match_mib < 10
    assert (needs.seats, needs.row_bytes) == (2, 56 + 3 + 32)  # 13 floats in a row of multiples of 8 bytes
    assert needs.source.startswith("measured: ")


def test_a_host_that_cannot_be_measured_is_a_clear_refusal() -> None:
    run = dataclasses.replace(resolve({"game": "toy"}), game=faulty, options=FaultyOptions(game="nim", crash_after=1))
    with pytest.raises(ConfigError, match="--size: the memory of a host could not be measured"):
        machine.needs(run)


def test_this_machine_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    seen = machine.look(resolve({"game": "toy", "device": "cpu"}).machine)
    assert (seen.cores, seen.device) == (cores(), "cpu")
    assert seen.free_mib > 1
    assert sizing.PLANS.keys() == {"quick", "dev", "full", "overnight"}
