"""A tuning whose trials are fake: which are due, who goes on, which setting is the best."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from ludus.diagnostics import tuning, tuning_report
from ludus.diagnostics.dimensions import Configuration
from ludus.diagnostics.scaling import GpuUse
from ludus.diagnostics.study import MachineInfo
from ludus.diagnostics.tuning import StartedRound, TrainingTrial, Tuning, TuningPlan
from ludus.errors import ConfigError

MACHINE = MachineInfo("a cpu", 4, "Linux x86_64", "")


def of(matches: int, hosts: int = 2) -> Configuration:
    return Configuration((("fleet.hosts", hosts), ("fleet.matches", matches)))


def state(*configurations: Configuration, budget_s: float = 1000.0) -> Tuning:
    plan = TuningPlan(
        name="toy",
        title="toy nim",
        settings={"game": "toy"},
        budget_s=budget_s,
        warm_s=2.0,
        measure_s=5.0,
        start_limit_s=0.0,
        configurations=configurations,
    )
    return Tuning(plan=plan, machine=MACHINE)


def tuned(made: Tuning, rate: Callable[[Configuration], float], trials: int = 1000, wall_s: float = 10.0) -> Tuning:
    """Runs fake trials until the tuning ends. A rate of 0 means that the trial fails."""
    for _ in range(trials):
        due = made.due()
        if due is None:
            if not made.begin_round(tuning.affordable(made.left_s, made.trial_s)):
                break
            continue
        decisions = int(10 * rate(due.configuration))
        made.trials.append(
            TrainingTrial(
                configuration=due.configuration,
                round=due.round,
                repeat=due.repeat,
                decisions=decisions,
                updates=10,
                seconds=10.0,
                wall_s=wall_s,
                failure="" if decisions else "out of memory",
            )
        )
        made.spent_s += wall_s
    return made


def matches_of(configuration: Configuration) -> float:
    return float(configuration.value("fleet.matches", 0))


def test_the_fastest_configuration_is_found_and_measured_most_often() -> None:
    made = tuned(state(*(of(matches) for matches in range(1, 13))), matches_of)
    assert made.best() == of(12)
    assert [len(each.configurations) for each in made.rounds] == [12, 6, 3, 2]
    trials = {each.configuration: each.trials for each in tuning.standings(made)}
    assert max(trials.values()) == trials[of(12)] > trials[of(1)] == 1


def test_trials_of_a_round_are_interleaved() -> None:
    made = tuned(state(of(1), of(2)), matches_of)
    order = [matches_of(trial.configuration) for trial in made.trials]
    assert order == [1, 2] * 5


def test_the_second_round_tries_the_best_values_together() -> None:
    """Alone, 4 hosts and 8 matches are each faster than the present setting; together they were not in round one."""
    rates = {of(4, 2): 10, of(8, 2): 12, of(4, 4): 13, of(8, 4): 20}
    made = state(of(4, 2), of(8, 2), of(4, 4), of(8, 4))
    made.rounds = [StartedRound((of(4, 2), of(8, 2), of(4, 4)), 1)]
    assert of(8, 4) in tuned(made, lambda each: rates[each]).rounds[1].configurations
    assert made.best() == of(8, 4)


def test_a_configuration_that_fails_is_left_out_and_the_others_go_on() -> None:
    made = tuned(state(of(1), of(2), of(3), of(4)), lambda each: 0 if each == of(4) else matches_of(each))
    assert made.best() == of(3)
    assert sum(trial.configuration == of(4) for trial in made.trials) == 1
    assert "matches 4: 1 of 1 trial failed: out of memory" in "\n".join(tuning_report.verdict_lines(made))


def test_the_tables_have_the_best_configuration_first_and_a_cell_for_every_column() -> None:
    gpu = GpuUse(0.5, 0.9, 1000.0)
    made = tuned(state(of(1), of(2), of(3), of(4)), lambda each: 0 if each == of(4) else matches_of(each))
    made.trials = [trial if trial.failure else msgspec.structs.replace(trial, gpu=gpu) for trial in made.trials]
    speed, cost = tuning_report.tables(made)
    assert {len(row) for row in speed.rows} == {len(speed.columns)}
    assert {len(row) for row in cost.rows} == {len(cost.columns)}
    assert [row[1] for row in speed.rows] == ["3", "2", "1", "4"]
    assert [row[-1] for row in speed.rows] == ["best", "", "present", "1 failed"]
    assert "50%" in cost.rows[0]


def test_a_tuning_in_which_all_fails_has_no_best_setting() -> None:
    made = tuned(state(of(1), of(2), of(3)), lambda each: 0)
    assert made.best() is None
    assert len(made.trials) == 3
    assert tuning_report.verdict_lines(made)[0] == "No configuration could be measured."


@pytest.mark.parametrize("wall_s", [5.0, 17.0, 60.0])
@pytest.mark.parametrize("budget_s", [30.0, 100.0, 400.0])
def test_the_budget_is_kept_to_within_one_trial(wall_s: float, budget_s: float) -> None:
    made = state(*(of(matches) for matches in range(1, 20)), budget_s=budget_s)
    while tuning.affordable(made.left_s, made.trial_s):
        count = len(made.trials)
        tuned(made, matches_of, trials=2, wall_s=wall_s)  # at most a new round and a trial
        if len(made.trials) == 1:
            made.replan(tuning.affordable(made.left_s, made.trial_s))
        if len(made.trials) == count and made.due() is None:
            break
    assert made.spent_s <= budget_s + wall_s


def test_a_slow_first_trial_shortens_the_first_round() -> None:
    made = state(*(of(matches) for matches in range(1, 13)), budget_s=200.0)
    tuned(made, matches_of, trials=2, wall_s=50.0)
    before = made.rounds[0]
    assert made.replan(tuning.affordable(made.left_s, made.trial_s))
    assert len(made.rounds[0].configurations) < len(before.configurations)
    assert made.rounds[0].configurations[0] == of(1)


def test_the_time_to_start_is_limited_by_what_starts_have_taken() -> None:
    made = state(of(1), of(2))
    assert made.start_limit_s() == tuning.START_LIMIT_S
    trial = TrainingTrial(configuration=of(1), round=0, repeat=0, start_s=20.0)
    made.trials.append(trial)
    assert made.start_limit_s() == 80.0
    made.trials.append(msgspec.structs.replace(trial, start_s=500.0, failure="no update"))
    assert made.start_limit_s() == 80.0
    made.plan = msgspec.structs.replace(made.plan, start_limit_s=7.0)
    assert made.start_limit_s() == 7.0


def test_more_configurations_are_measured_for_a_shorter_time_each() -> None:
    assert tuning.measured_s(600, 4) > tuning.measured_s(600, 12) >= tuning.SHORTEST_S
    assert tuning.measured_s(1e6, 4) == tuning.LONGEST_S


def test_the_state_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    made = tuned(state(of(1), of(2), of(3)), matches_of)
    tuning.write(tmp_path / tuning.JSON, made)
    assert tuning.read(tmp_path) == made
    page = msgspec.json.decode((tmp_path / tuning.JSON).read_bytes())
    assert page["best"] == {"fleet.hosts": 2, "fleet.matches": 3}


def test_a_tuning_that_was_cut_short_goes_on_where_it_was(tmp_path: Path) -> None:
    whole = tuned(state(*(of(matches) for matches in range(1, 9))), matches_of)
    part = tuned(state(*(of(matches) for matches in range(1, 9))), matches_of, trials=7)
    tuning.write(tmp_path / tuning.JSON, part)
    assert tuned(tuning.read(tmp_path), matches_of).trials == whole.trials


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"plan": 3}', b"\xff"])
def test_a_damaged_state_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / tuning.JSON).write_bytes(content)
    with pytest.raises(ConfigError, match=r"--resume: .*tuning\.json cannot be read"):
        tuning.read(tmp_path)


@pytest.mark.parametrize("path", ["options.command", "game", "fleet.hots", ""])
def test_a_tuning_from_elsewhere_cannot_vary_what_runs_on_this_machine(tmp_path: Path, path: str) -> None:
    made = state(Configuration(((path, "evil"),)))
    tuning.write(tmp_path / tuning.JSON, made)
    with pytest.raises(ConfigError, match="some that cannot be varied"):
        tuning.read(tmp_path)
    hidden = state(of(1))
    hidden.rounds = [StartedRound((Configuration(((path, "evil"),)),), 1)]
    tuning.write(tmp_path / tuning.JSON, hidden)
    with pytest.raises(ConfigError, match="some that cannot be varied"):
        tuning.read(tmp_path)


def test_a_folder_without_a_tuning_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no tuning"):
        tuning.read(tmp_path)


def test_a_gain_within_the_spread_is_called_noise() -> None:
    made = state(of(1), of(2))
    rates = iter([100.0, 101.0, 104.0, 103.0, 99.0, 105.0, 100.0, 102.0, 101.0, 100.0])
    tuned(made, lambda each: next(rates))
    assert any("may be noise" in line for line in tuning_report.verdict_lines(made))
    clear = tuned(state(of(1), of(2)), matches_of)
    assert not any("may be noise" in line for line in tuning_report.verdict_lines(clear))
    assert "2.00 times those of the present setting" in tuning_report.verdict_lines(clear)[0]


def test_a_gain_that_was_measured_once_is_called_noise() -> None:
    made = tuned(state(of(1), of(2), budget_s=20.0), matches_of)
    assert len(made.trials) == 2
    assert any("measured once only" in line for line in tuning_report.verdict_lines(made))
