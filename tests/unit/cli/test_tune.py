from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ludus.api import settings_source
from ludus.cli import main, tune_plan, tune_result
from ludus.cli.tune_plan import PlannedTuning, TuneArguments
from ludus.config import load
from ludus.diagnostics.dimensions import Configuration
from ludus.diagnostics.sizing import MachineSize, Needs
from ludus.errors import ConfigError


@pytest.fixture(autouse=True)
def _known_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ludus.diagnostics.machine.look", lambda machine: MachineSize(2, 4000.0, "cpu"))
    monkeypatch.setattr("ludus.diagnostics.machine.needs", lambda run: Needs(100.0, 5.0, 64, "known"))


def planned(**given: object) -> PlannedTuning:
    arguments = TuneArguments(**given)  # type: ignore[arg-type]  # fields by name
    run = settings_source.resolved(settings_source.of("nim"), arguments.sets)
    return tune_plan.make("nim", run, arguments)


def test_a_plan_begins_with_the_present_setting_and_holds_the_whole_configuration() -> None:
    made = planned(budget="10m")
    assert dict(made.plan.configurations[0].settings)["fleet.matches"] == 32
    assert made.plan.settings["learner"]["decisions"] == 1024
    assert made.plan.budget_s == 600


def test_what_does_not_fit_into_the_free_memory_is_left_out_and_counted() -> None:
    made = planned(tries=("fleet.matches=32,64,512",), sets=("fleet.hosts=1", "fleet.parts=1"))
    assert [str(each) for each in made.plan.configurations] == ["matches 32", "matches 64"]
    assert made.left_out == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"tries": ("fleet.matchs=1,2",)}, "--try fleet.matchs: is no setting that can be varied"),
        ({"tries": ("options.pile=8,12",)}, "the game and its options cannot"),
        ({"tries": ("game=toy,command",)}, "the game and its options cannot"),
        ({"tries": ("fleet.matches",)}, "must look like a.b=1,2"),
        ({"tries": ("fleet.matches=",)}, "must look like a.b=1,2"),
        ({"tries": ("fleet.matches=[1]",)}, "must be numbers or words, separated by commas"),
        ({"tries": ("fleet.matches=1,2",), "sets": ("fleet.matches=4",)}, "is also given with --set"),
        ({"budget": "3s"}, "--budget: 3 s is too short for one trial"),
        ({"budget": "soon"}, "--budget: must be a time"),
        (
            {"sets": ("fleet.matches=4", "fleet.hosts=1", "fleet.parts=1", "policy.device=cpu", "device=cpu")},
            "nothing can be varied here",
        ),
    ],
)
def test_what_cannot_be_tuned_is_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        planned(**given)
    assert words in str(refused.value)


def test_only_values_that_change_are_written_into_an_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("game: toy\nfleet:\n  hosts: 1  # one is enough\n  matches: 8\n")
    best = Configuration((("fleet.hosts", 1), ("fleet.matches", 16), ("policy.device", "cpu")))
    lines = tune_result.apply_best(path, best, settings_source.of("nim"), ())
    assert path.read_text() == "game: toy\nfleet:\n  hosts: 1  # one is enough\n  matches: 16\n"
    assert lines[0] == f"{path}: fleet.matches is now 16 (was 8)"
    assert f"{path}: policy.device is cpu (unchanged)" in lines


def test_an_automatic_setting_stays_automatic_where_it_is_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ludus.actors.resolved.cores", lambda: 4)
    path = tmp_path / "my.yaml"
    path.write_text("game: toy\n")
    best = Configuration((("fleet.hosts", 4), ("fleet.parts", 1)))
    tune_result.apply_best(path, best, settings_source.of("nim"), ())
    assert path.read_text() == "game: toy\n"
    fewer = Configuration((("fleet.hosts", 2), ("fleet.parts", 1)))  # then two parts would be chosen
    tune_result.apply_best(path, fewer, settings_source.of("nim"), ())
    assert load.read(path)["fleet"] == {"hosts": 2, "parts": 1}


def test_a_new_file_is_a_copy_of_the_preset_with_the_settings_of_the_tuning(tmp_path: Path) -> None:
    path = tmp_path / "new.yaml"
    best = Configuration((("fleet.matches", 64),))
    tune_result.apply_best(path, best, settings_source.of("nim"), ("learner.lr=0.01",))
    assert path.read_text().startswith("# Nim by self-play: perfect in well under a minute.\ngame: toy\n")
    data = load.read(path)
    assert data["fleet"] == {"hosts": 1, "matches": 64}
    assert data["learner"] == {"lr": 0.01, "decisions": 1024, "minibatch": 256}


def test_a_new_file_for_a_game_without_a_preset_names_the_game(tmp_path: Path) -> None:
    path = tmp_path / "new.yaml"
    source = settings_source.of_game("toy")
    tune_result.apply_best(
        path, Configuration((("fleet.matches", 16),)), source, ("opponents.scripted_names=[random]",)
    )
    data = load.read(path)
    assert data == {"game": "toy", "opponents": {"scripted_names": ["random"]}, "fleet": {"matches": 16}}


def test_the_command_has_help_with_examples() -> None:
    result = CliRunner().invoke(main.app, ["tune", "--help"], terminal_width=100)
    assert result.exit_code == 0
    assert "Example: ludus tune gen9 --budget 10m --apply my.yaml" in result.output


def test_nothing_is_measured_where_the_result_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.yaml").write_text("game: showdown\n")
    result = CliRunner().invoke(main.app, ["tune", "nim", "--apply", "other.yaml"])
    assert str(result.exception) == "--apply: other.yaml is for showdown, this measures toy"
    assert list(tmp_path.iterdir()) == [tmp_path / "other.yaml"]


def test_a_file_that_names_something_to_run_is_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tuning may come from another machine: its settings are those of a file, not of this machine's user."""
    from ludus.diagnostics import study, tuning
    from ludus.diagnostics.usage import gpu_names

    monkeypatch.setenv("LUDUS_HOME", str(tmp_path / "home"))
    run = settings_source.resolved(settings_source.of_game("command:node my_host.js"), ())
    made = tune_plan.make("command", run, TuneArguments())
    tuning.write(tmp_path / "out" / tuning.JSON, tuning.Tuning(plan=made.plan, machine=study.this_machine(gpu_names())))
    result = CliRunner().invoke(main.app, ["tune", "--resume", str(tmp_path / "out")])
    assert result.exit_code != 0
    assert "which may name something that is run" in str(result.exception)
