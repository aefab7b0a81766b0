from __future__ import annotations

import json
from pathlib import Path

import pytest

from ludus.diagnostics import study
from ludus.diagnostics.scaling import FleetSize, StudyPlan, Trial
from ludus.errors import ConfigError
from ludus.metrics import names, times
from ludus.metrics.exporters.csv import ProgressCsv
from ludus.metrics.times import RunTimes, Times
from ludus.plan import prices, reading
from ludus.wire.durations import Durations


def write_run(folder: Path, seconds: int, *, busy_share: float = 0.25) -> None:
    """Write the files of a run that made 500 and 700 decisions a second in turns, in matches of 10."""
    folder.mkdir()
    decisions = 0
    with ProgressCsv(folder / reading.PROGRESS) as file:
        for second in range(seconds + 1):
            numbers = {names.TRAINING_S: float(second), names.DECISIONS: decisions, names.MATCHES: decisions // 10}
            file.on_progress(numbers)
            decisions += 700 if (second - 10) // 9 % 2 else 500  # the parts are 9 s, after a warm-up of 10 s
    waiting, update = Durations(), Durations()
    waiting.total_ns, update.total_ns = (1 - busy_share) * 1e9, busy_share * 1e9
    activities = {names.WAIT_BATCH: waiting, names.UPDATE: update}
    times.write(folder, RunTimes(Times({times.LEARNER: 1e9}, activities), hosts=2, cores=4))


def test_a_run_is_a_measurement_with_the_spread_of_its_parts(tmp_path: Path) -> None:
    write_run(tmp_path / "run", 100)
    measured = reading.read(tmp_path / "run")
    assert measured.training
    assert (measured.hosts, measured.cores, measured.samples) == (2, 4, reading.PARTS)
    assert (measured.decisions_per_s.low, measured.decisions_per_s.high) == (500, 700)
    assert measured.per_s("matches").median == pytest.approx(measured.decisions_per_s.median / 10)
    limit = measured.learner_limit("decisions")
    assert limit is not None
    assert limit.median == pytest.approx(4 * measured.decisions_per_s.median)


def test_a_short_run_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run", 20)
    with pytest.raises(ConfigError, match="trained for 20 s; at least 30 s are needed"):
        reading.read(tmp_path / "run")


def test_a_scaling_benchmark_gives_its_best_fleet_size(tmp_path: Path) -> None:
    plan = StudyPlan(
        game="toy",
        options={},
        fleet={},
        seed=1,
        policy="random",
        hosts=(1, 2),
        matches=(4,),
        repeats=2,
        budget_s=80.0,
        min_matches=1,
    )
    trials = [
        Trial(
            size=FleetSize(hosts, 4), repeat=repeat, min_matches=4, done=50, decisions=1000 * hosts + repeat, seconds=10
        )
        for hosts in (1, 2)
        for repeat in (0, 1)
    ]
    study.write(tmp_path, study.Study(plan, study.MachineInfo("CPU", 4, "Linux x86_64", ""), trials))
    for path in (tmp_path, tmp_path / study.JSON):
        measured = reading.read(path)
        assert (measured.hosts, measured.samples, measured.training) == (2, 2, False)
        assert measured.decisions_per_s.low == 200.0
        assert measured.per_s("matches").median == 5.0
        assert measured.learner_limit("decisions") is None


def write_benchmark(path: Path, *formats: str) -> None:
    lines = [
        {
            "format": each,
            "hosts": 2,
            "repeats": 5,
            "machine": {"cpu": "CPU", "cores": 2},
            "rows": {"train": {"median": 9.0, "low": 8.0, "high": 10.0}, "note": {"median": 1.0}},
        }
        for each in formats
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines))


def test_a_row_of_a_benchmark_is_a_measurement(tmp_path: Path) -> None:
    write_benchmark(tmp_path / "b.jsonl", "gen1", "gen9")
    measured = reading.read(tmp_path / "b.jsonl", "gen9/train")
    assert (measured.hosts, measured.cores, measured.samples, measured.training) == (2, 2, 5, True)
    assert measured.decisions_per_s.low == 8.0
    with pytest.raises(ConfigError, match="several rows 'train': give one of gen1/train, gen9/train"):
        reading.read(tmp_path / "b.jsonl")
    with pytest.raises(ConfigError, match=r"no row 'gen9/trian'; did you mean gen9/train\?"):
        reading.read(tmp_path / "b.jsonl", "gen9/trian")
    with pytest.raises(ConfigError, match="no count of matches; plan with --decisions"):
        measured.per_s("matches")


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"rows": {"train": 3}}', "\xff", '{"rows": []}'])
def test_what_is_no_measurement_is_refused_with_how_to_measure(tmp_path: Path, content: str) -> None:
    (tmp_path / "file").write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError, match="measure one: train for a few minutes"):
        reading.read(tmp_path / "file")


def test_a_missing_measurement_is_refused_with_how_to_measure(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ConfigError, match="ludus bench scale"):
            reading.read(path)


def test_the_benchmark_results_of_this_repository_can_be_read() -> None:
    path = Path(__file__).parents[3] / "benchmarks" / "results" / "showdown.jsonl"
    assert reading.read(path, "gen9randombattle/train").decisions_per_s.median > 0


def test_the_example_prices_are_dated_and_say_that_they_are_examples() -> None:
    example = prices.read(None)
    assert all(kind.on_demand > 0 for kind in example.machines)
    assert "NOT quotes" in prices.EXAMPLE.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("date: 2026-01-31\nmachines: []", "machines: is empty"),
        ("date: soon\nmachines: [{name: a, cores: 1, on_demand: 1}]", "date: must be a day as 2026-01-31"),
        ("date: 2026-01-31\nmachines: [{name: a, cores: 0, on_demand: 1}]", "cores"),
        ("date: 2026-01-31\nmachines: [{name: a, cores: 1, on_demand: -1}]", "on_demand"),
        ("date: 2026-01-31\nmachines: [{name: a, cores: 1, ondemand: 1}]", "did you mean machines\\[0\\].on_demand"),
        (
            "date: 2026-01-31\nmachines: [{name: a, cores: 1, on_demand: 1}, {name: a, cores: 2, on_demand: 1}]",
            "2 times",
        ),
        ("prices", "must be a section with keys"),
    ],
)
def test_wrong_prices_are_refused_with_the_file_and_the_reason(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "my.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message) as raised:
        prices.read(tmp_path / "my.yaml")
    assert "my.yaml" in str(raised.value)
