from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ludus.cli import main, scale_plan, scale_result
from ludus.cli.scale_plan import ScaleArguments
from ludus.config import load
from ludus.diagnostics.scaling import FleetSize, Verdict
from ludus.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "value"),
    [("90s", 90), ("10m", 600), ("1h30m", 5400), ("45", 45), ("1.5m", 90), ("1h5s", 3605), ("1.5d", 129_600)],
)
def test_times_are_read_with_their_units(text: str, value: float) -> None:
    assert scale_plan.seconds(text, "--budget") == value


@pytest.mark.parametrize("text", ["", "m", "ten", "-5s", "5x", "5m 3"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--budget: must be a time as in 90s, 10m, 1h30m"):
        scale_plan.seconds(text, "--budget")


def test_counts_are_sorted_and_each_counts_once() -> None:
    assert scale_plan.counts("4, 1,2,1", "--hosts") == (1, 2, 4)


@pytest.mark.parametrize("text", ["0", "1,,2", "1;2", "-1", "two", "1.5"])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--hosts: must be whole numbers from 1, separated by commas"):
        scale_plan.counts(text, "--hosts")


@pytest.mark.parametrize(("cores", "hosts"), [(1, (1,)), (2, (1, 2)), (6, (1, 2, 4, 6)), (8, (1, 2, 4, 8))])
def test_hosts_are_doubled_up_to_the_cores(cores: int, hosts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ludus.processes.cores.cores", lambda: cores)
    assert scale_plan.default_hosts() == hosts


def test_a_plan_holds_what_was_asked_for_and_defaults_for_the_rest() -> None:
    plan = scale_plan.make(
        None, ScaleArguments(game="toy", hosts="1,2", sets=["options.game=rps", "fleet.backoff_s=2"])
    )
    assert (plan.game, plan.options["game"], plan.fleet["backoff_s"]) == ("toy", "rps", 2)
    assert (plan.hosts, plan.matches, plan.repeats, plan.budget_s, plan.policy) == (
        (1, 2),
        (4, 16, 64),
        3,
        300,
        "random",
    )
    assert "matches" not in plan.fleet


def test_a_resumed_plan_is_the_one_before_unless_something_else_is_asked_for() -> None:
    before = scale_plan.make(
        None, ScaleArguments(game="toy", hosts="1,2", repeats=2, sets=["options.game=rps", "seed=5"])
    )
    assert scale_plan.make(before, ScaleArguments()) == before
    assert scale_plan.make(before, ScaleArguments(game="toy", hosts="2,1")) == before
    assert scale_plan.make(before, ScaleArguments(sets=["seed=6"])) != before


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (ScaleArguments(game="toi"), "did you mean toy"),
        (ScaleArguments(game="toy", policy="randm"), "'randm' is no checkpoint, and toy has no policy of that name"),
        (
            ScaleArguments(game="gymnasium"),
            "gymnasium has no policy of that name; it has none; give a run's folder",
        ),
        (ScaleArguments(game="toy", sets=["fleet.hosts=3"]), "use --hosts"),
        (ScaleArguments(game="toy", sets=["learner.lr=1"]), "nothing is learned here"),
        (ScaleArguments(game="toy", sets=["options.gam=nim"]), "did you mean options.game"),
        (ScaleArguments(game="toy", servers="1,2"), "--servers: toy is played without servers"),
        (ScaleArguments(game="toy", hosts="1", budget="2s"), "2 s for 9 trials is 0.22 s each; give at least 4.5s"),
    ],
)
def test_what_cannot_be_measured_is_refused(asked: ScaleArguments, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        scale_plan.make(None, asked)
    assert words in str(refused.value)


def test_the_best_size_is_written_and_the_change_is_said(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("game: toy\nfleet:\n  hosts: 2  # cores\n")
    said = scale_result.apply_best(path, Verdict(FleetSize(2, 16), FleetSize(1, 16)))
    assert said == [
        f"{path}: fleet.hosts is 2 (unchanged)",
        f"{path}: fleet.matches is now 16 (was not set)",
    ]
    assert path.read_text() == "game: toy\nfleet:\n  matches: 16\n  hosts: 2  # cores\n"
    assert list(tmp_path.iterdir()) == [path]


def test_the_number_of_servers_is_written_where_the_best_size_has_some(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("game: showdown-server\nservers:\n  count: 1  # to begin with\n")
    said = scale_result.apply_best(path, Verdict(FleetSize(2, 16, 4), FleetSize(1, 16, 1)))
    assert said[-1] == f"{path}: servers.count is now 4 (was 1)"
    written = path.read_text()
    assert "servers:\n  count: 4  # to begin with\n" in written
    assert load.read(path)["fleet"] == {"hosts": 2, "matches": 16}


def test_the_command_has_help_with_an_example() -> None:
    result = CliRunner().invoke(main.app, ["bench", "scale", "--help"], terminal_width=100)
    assert result.exit_code == 0
    assert "Example: ludus bench scale" in result.output


def test_the_command_that_is_reported_makes_the_same_plan_again() -> None:
    words = ["options.game=rps", "options.slow_s=0.5", "fleet.backoff_s=2", "seed=5"]
    plan = scale_plan.make(None, ScaleArguments(game="toy", hosts="1,2", budget="1m", sets=words))
    assert scale_result.again(plan) == (
        "ludus bench scale --game toy --hosts 1,2 --matches 4,16,64 --set options.game=rps --set options.slow_s=0.5 "
        "--set fleet.backoff_s=2.0 --set seed=5 --policy random --repeats 3 --budget 60s"
    )


def test_servers_are_part_of_the_plan_and_of_its_command() -> None:
    plan = scale_plan.make(None, ScaleArguments(game="showdown-server", hosts="1", matches="1,4", servers="2,1"))
    assert plan.servers == (1, 2)
    assert len(plan.sizes) == 4
    assert "--matches 1,4 --servers 1,2 --policy random" in scale_result.again(plan)
    assert scale_plan.make(plan, ScaleArguments()) == plan
