"""What limits, what would help, and whether a number is better: on costs with known answers."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from ludus.config.settings import FleetConfig, LearnerConfig, RunConfig
from ludus.diagnostics.diagnosis import ceilings, comparison, diagnosis_report, record, remedies
from ludus.diagnostics.diagnosis.ceilings import Model
from ludus.diagnostics.diagnosis.record import CheckedGain, Diagnosis, Measure, Suggestion
from ludus.diagnostics.study import MachineInfo
from ludus.errors import ConfigError

US = 1e-6


def diagnosis(
    *,
    env: float = 10_000,
    row: float = 50_000,
    update: float = 40_000,
    hosts_us: float = 100,
    actor_us: float = 40,
    learner_us: float = 25,
    whole: float = 9_000,
    cores: int = 8,
    mode: str = "overlapped",
) -> Diagnosis:
    """Hosts, policy and learner with these decisions/s alone, and these CPU microseconds per decision."""
    numbers = {
        record.ENV_RATE: env,
        record.ENV_BUSY: 1.0,
        record.ENV_CORES: 1.0,
        record.PLAY_LEARNED: 1.0,
        record.PLAY_ACTOR_CPU: actor_us,
        record.PLAY_HOSTS_CPU: hosts_us,
        record.ROW_RATE: row,
        record.ROW_CPU: 1e6 / row,
        record.ROWS: 32.0,
        record.UPDATE_RATE: update,
        record.UPDATE_CPU: learner_us,
        record.WHOLE_RATE: whole,
    }
    return Diagnosis(
        name="x",
        title="x",
        settings={"mode": mode},
        machine=MachineInfo("cpu", cores, "Linux", ""),
        hosts=1,
        actors=1,
        measures={name: Measure("", "higher", (value,)) for name, value in numbers.items()},
        curve={"16": 30.0, "64": 20.0},
    )


def model(**numbers: float | str) -> Model:
    found = ceilings.model_of(diagnosis(**numbers))  # type: ignore[arg-type]  # of one of both kinds each
    assert found is not None
    return found


def factors(model: Model) -> dict[str, float]:
    return {each.part: each.factor for each in model.ceilings()}


def test_a_run_is_as_fast_as_its_slowest_process_if_there_are_cores_enough() -> None:
    found = model()
    assert found.limit == "hosts"
    assert found.decisions_per_s == pytest.approx(10_000)
    # without the simulation, the actor is next: 40 us per decision
    assert factors(found)["simulation"] == pytest.approx(2.5)
    assert factors(found)["updates"] == factors(found)["inference"] == pytest.approx(1.0)
    assert found.ceilings()[0].part == "simulation"


def test_on_few_cores_the_cpu_time_of_all_processes_limits() -> None:
    found = model(cores=1)
    assert found.limit == "cpu"
    assert found.decisions_per_s == pytest.approx(1 / (165 * US))
    assert factors(found)["simulation"] == pytest.approx(min(165 / 65, 165 / 40))
    assert factors(found)["updates"] == pytest.approx(165 / 140)


def test_in_serial_mode_the_times_add_up() -> None:
    found = model(mode="serial")
    assert found.limit == "turns"
    assert found.decisions_per_s == pytest.approx(1 / ((100 + 40 + 25) * US))
    assert factors(found)["simulation"] == pytest.approx(165 / 65)


def test_decisions_that_are_not_learned_from_cost_as_well() -> None:
    half = diagnosis()
    half.measures[record.PLAY_LEARNED] = Measure("share", "neither", (0.5,))
    found = ceilings.model_of(half)
    assert found is not None
    assert found.decisions_per_s == pytest.approx(5_000)


def test_the_verdict_names_what_limits_how_far_the_run_gets_and_the_ceilings() -> None:
    found = diagnosis(whole=5_000)
    lines = ceilings.verdict(found, ceilings.model_of(found))
    assert lines[0].startswith("The hosts limit this run at 10,000 decisions/s")
    assert lines[1].startswith("Training reaches 5,000 decisions/s, 50% of the 10,000")
    assert "wait for each other" in lines[2]
    assert "if simulation cost nothing, training would be 2.50 times as fast" in lines[3]


def test_cpu_times_count_where_other_programs_used_the_machine() -> None:
    found = diagnosis(env=1_000, update=2_000, row=3_000, cores=2, whole=1_000)
    found.measures[record.ROW_CPU] = Measure("us", "lower", (20.0,))
    found.measures[record.OTHER_CORES] = Measure("cores", "neither", (1.5,))
    shared = ceilings.model_of(found)
    assert shared is not None
    assert shared.decisions_per_s == pytest.approx(1 / (100 * US))
    lines = diagnosis_report.lines(found)
    assert [line for line in lines if line.startswith("Other programs used 1.5 cores")]
    assert not [line for line in ceilings.verdict(found, shared) if "wait for each other" in line]


def test_nothing_is_concluded_from_some_stages_only() -> None:
    found = diagnosis()
    del found.measures[record.UPDATE_RATE]
    assert ceilings.model_of(found) is None
    assert ceilings.verdict(found, None) == ["Only some stages were measured; --test all says what limits the whole."]


def suggested(found: Diagnosis, config: RunConfig, rates: dict[int, float] | None = None) -> dict[str, Suggestion]:
    known = ceilings.model_of(found)
    assert known is not None
    return {each.words: each for each in remedies.suggestions(found, known, config, rates or {})}


def test_more_hosts_are_suggested_where_hosts_limit_and_cores_are_free() -> None:
    config = RunConfig(game="toy", fleet=FleetConfig(matches=32), learner=LearnerConfig(epochs=1))
    found = suggested(diagnosis(), config)
    assert found["fleet.hosts=2"].gain == pytest.approx(2.0)
    assert "fleet.hosts=2" not in suggested(diagnosis(cores=1), config)


def test_fewer_epochs_and_larger_minibatches_help_only_where_the_learner_limits() -> None:
    config = RunConfig(game="toy", learner=LearnerConfig(minibatch=256, epochs=2))
    slow = diagnosis(update=4_000, learner_us=250)
    found = suggested(slow, config, {256: 4_000.0, 512: 6_000.0})
    assert found["learner.epochs=1"].gain == pytest.approx(2.0)
    assert found["learner.minibatch=512"].gain == pytest.approx(1.5)
    assert "compare learning curves" in found["learner.epochs=1"].caveat
    assert not any(words.startswith("learner") for words in suggested(diagnosis(), config))


def test_overlapping_is_suggested_to_a_serial_run() -> None:
    found = suggested(diagnosis(mode="serial"), RunConfig(game="toy"))
    assert found["mode=overlapped"].gain == pytest.approx(165 / 100)


@pytest.mark.parametrize(
    ("unit", "better", "factor", "answer"),
    [
        ("decisions/s", "higher", 1.2, "better"),
        ("decisions/s", "higher", 0.8, "worse"),
        ("ms", "lower", 1.2, "worse"),
        ("ms", "lower", 0.8, "better"),
        ("ms", "lower", 1.005, "cannot tell"),
    ],
)
def test_a_clear_change_is_told_and_a_small_one_is_not(unit: str, better: str, factor: float, answer: str) -> None:
    [found] = compared(unit, better, [100, 101, 99, 100, 102], [factor * each for each in (100, 101, 99, 100, 102)])
    assert found.answer == answer


def test_noise_and_too_few_samples_cannot_tell() -> None:
    [noisy] = compared("ms", "lower", [100, 140, 60, 90, 130], [110, 150, 70, 95, 120])
    [few] = compared("ms", "lower", [100, 100], [200, 200])
    assert noisy.answer == few.answer == "cannot tell"


def test_equal_measurements_are_hardly_ever_called_better_or_worse() -> None:
    generator = np.random.default_rng(3)
    wrong = 0
    for _ in range(100):
        before, now = (generator.normal(100, 5, 5).tolist() for _ in range(2))
        wrong += compared("ms", "lower", before, now)[0].answer != "cannot tell"
    assert wrong <= 20


def test_what_the_machine_itself_explains_is_no_change() -> None:
    before, now = [100.0, 101, 99, 100, 102], [80.0, 81, 79, 80, 82]
    assert compared("decisions/s", "higher", before, now)[0].answer == "worse"
    assert compared("decisions/s", "higher", before, now, drift=0.78)[0].answer == "cannot tell"
    assert compared("decisions/s", "higher", before, now, drift=1.2)[0].answer == "worse"


def test_nothing_is_told_if_other_programs_used_the_machine() -> None:
    before, now = [100.0, 101, 99, 100, 102], [60.0, 61, 59, 60, 62]
    assert compared("decisions/s", "higher", before, now, others=0.1)[0].answer == "worse"
    assert compared("decisions/s", "higher", before, now, others=1.5)[0].answer == "cannot tell"


def compared(
    unit: str, better: str, before: list[float], now: list[float], drift: float = 1.0, others: float = 0.0
) -> list[comparison.MeasureChange]:
    def of(samples: list[float], speed: float) -> Diagnosis:
        found = diagnosis(cores=2)
        found.measures = {
            "a/b": msgspec.convert({"unit": unit, "better": better, "samples": samples}, Measure),
            record.MACHINE: Measure("loops/s", "higher", (speed,)),
            record.OTHER_CORES: Measure("cores", "neither", (others,)),
        }
        return found

    return comparison.compare(of(before, 1.0), of(now, drift))


def test_settings_that_differ_are_named() -> None:
    before = {"fleet": {"hosts": 1, "matches": 8}, "seed": 1}
    assert comparison.changed_settings(before, {"fleet": {"hosts": 2, "matches": 8}, "seed": 1}) == [
        "fleet.hosts: 1 before, 2 now"
    ]


def test_settings_are_equal_to_those_that_were_written_and_read(tmp_path: Path) -> None:
    found = diagnosis()
    found.settings = msgspec.to_builtins(RunConfig(game="toy"))
    record.write(tmp_path, found)
    assert comparison.changed_settings(record.read(tmp_path).settings, found.settings) == []


def test_a_diagnosis_is_read_back_and_a_damaged_one_refused(tmp_path: Path) -> None:
    found = diagnosis()
    found.suggestions = [Suggestion({"fleet.hosts": 2}, 2.0, "why", "", CheckedGain(1.9, 1.8, 2.0, 4))]
    record.write(tmp_path, found)
    assert record.read(tmp_path) == record.read(tmp_path / record.JSON) == found
    with pytest.raises(ConfigError, match="--against: there is no diagnosis"):
        record.read(tmp_path / "other.json")
    (tmp_path / record.JSON).write_text('{"name": "x"}')
    with pytest.raises(ConfigError, match=r"cannot be read: .*missing required field"):
        record.read(tmp_path)
    (tmp_path / record.JSON).write_text('{"measures": {"a": {"samples": [1e999]}}}')
    with pytest.raises(ConfigError, match="cannot be read"):
        record.read(tmp_path)


def test_the_page_shows_text_of_a_run_as_text(tmp_path: Path) -> None:
    found = diagnosis()
    found.title = "<script>alert(1)</script>"
    found.failures = {"env": "host 3 said <b>|`no`"}
    found.verdict = ceilings.verdict(found, ceilings.model_of(found))
    found.ceilings = model().ceilings()
    page = diagnosis_report.write(tmp_path, found, "ludus diagnose x", found)
    text = page.read_text()
    assert "<script>" not in text
    assert "&lt;b>\\|'no'" in text
    assert (tmp_path / diagnosis_report.PICTURE).stat().st_size > 5_000
    assert "cannot tell" in text


def test_the_reason_of_a_failure_is_one_line_without_control_characters() -> None:
    assert record.plain("host 3 said\n \x1b[2J[/red]\n") == "host 3 said; ?[2J[/red]"
    assert len(record.plain("x" * 5000)) == record.MOST_CHARACTERS
