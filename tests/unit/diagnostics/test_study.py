from __future__ import annotations

import csv
import json
from pathlib import Path

import msgspec
import pytest

from ludus.diagnostics import scaling_report, study
from ludus.diagnostics.scaling import FleetSize, GpuUse, StudyPlan, Trial
from ludus.diagnostics.study import MachineInfo, Study
from ludus.errors import ConfigError
from ludus.metrics import names
from ludus.metrics.times import ACTOR, HOSTS, Times
from ludus.wire.durations import Durations

PLAN = StudyPlan(
    game="toy",
    options={"game": "nim"},
    fleet={},
    seed=1,
    policy="random",
    hosts=(1, 2),
    matches=(4, 8),
    repeats=1,
    budget_s=40.0,
    min_matches=2,
)
MACHINE = MachineInfo("a processor", 2, "Linux x86_64", "")
RATES = {FleetSize(1, 4): 100.0, FleetSize(1, 8): 150.0, FleetSize(2, 4): 190.0, FleetSize(2, 8): 195.0}


def measured() -> Study:
    """All sizes but the last, which failed."""
    trials = [
        Trial(size=size, repeat=0, min_matches=2 * size.at_once, done=16, decisions=round(rate * 10), seconds=10.0)
        for size, rate in RATES.items()
    ]
    trials[-1] = Trial(
        size=FleetSize(2, 8), repeat=0, min_matches=32, failure="no host is left to play on: host 0 died"
    )
    return Study(PLAN, MACHINE, trials)


def timed() -> Study:
    """Every trial's hosts were busy for nine tenths of their time."""
    spent = {names.HOST_SIMULATE: Durations.of([1_000_000] * 900), names.HOST_WAIT: Durations.of([100_000_000])}
    trials = [
        msgspec.structs.replace(trial, times=Times({HOSTS: 1e9, ACTOR: 1e9}, spent)) if not trial.failure else trial
        for trial in measured().trials
    ]
    return Study(PLAN, MACHINE, trials)


def test_every_size_says_where_its_time_went_and_the_best_one_who_kept_the_others_waiting(tmp_path: Path) -> None:
    study.write(tmp_path, timed())
    assert study.read(tmp_path) == timed()
    with (tmp_path / study.CSV).open(newline="") as file:
        shares = [row[names.SHARE(names.HOST_SIMULATE)] for row in csv.DictReader(file)]
    assert shares == ["0.9", "0.9", "0.9", ""]
    page = scaling_report.markdown(timed(), "ludus bench scale", picture=False)
    assert "| hosts | matches | wait | simulate | other |" in page
    assert "| 1 | 4 | 10% | 90% | 0% |" in page
    assert "| hosts | simulate | 90.0% | 1.0ms |" in page
    assert "There: The hosts are busy 90% (simulate 90%): more will not help on 2 cores." in page


def test_what_is_written_is_read_back_equal(tmp_path: Path) -> None:
    study.write(tmp_path, measured())
    assert study.read(tmp_path) == measured()
    assert not list(tmp_path.glob("*.partial"))


def test_the_json_tells_other_programs_what_follows(tmp_path: Path) -> None:
    study.write(tmp_path, measured())
    page = json.loads((tmp_path / study.JSON).read_text())
    assert page["best"] == {"hosts": 2, "matches": 4}
    assert page["smallest_near_best"] == {"hosts": 2, "matches": 4}
    assert page["sizes"][0]["decisions_per_s"] == {"median": 100.0, "low": 100.0, "high": 100.0}
    assert page["sizes"][3]["decisions_per_s"] is None
    [_, grown] = [each for each in page["growth"]["hosts"] if each["size"]["matches"] == 4]
    assert (grown["efficiency"], grown["gain"]) == (0.95, 90.0)


def test_the_csv_has_one_row_per_trial(tmp_path: Path) -> None:
    study.write(tmp_path, measured())
    with (tmp_path / study.CSV).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["hosts"], row["matches"], row["state"]) for row in rows] == [
        ("1", "4", "completed"),
        ("1", "8", "completed"),
        ("2", "4", "completed"),
        ("2", "8", "failed"),
    ]
    assert (rows[1]["decisions_per_s"], rows[1]["matches_per_hour"], rows[1]["min_matches"]) == (
        "150.0",
        "5760.0",
        "16",
    )
    assert rows[3]["failure"] == "no host is left to play on: host 0 died"


def test_a_folder_of_another_plan_or_machine_is_refused(tmp_path: Path) -> None:
    other = StudyPlan(**{**{name: getattr(PLAN, name) for name in StudyPlan.__struct_fields__}, "repeats": 3})
    study.check_same(measured(), PLAN, MACHINE, tmp_path)
    with pytest.raises(ConfigError, match="repeats is 1 there, 3 here; choose another --out"):
        study.check_same(measured(), other, MACHINE, tmp_path)
    with pytest.raises(ConfigError, match="a processor with 2 cores there, a processor with 8 cores here"):
        study.check_same(measured(), PLAN, MachineInfo("a processor", 8, "Linux x86_64", ""), tmp_path)


def test_a_folder_without_a_benchmark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no benchmark to resume"):
        study.read(tmp_path)
    (tmp_path / study.JSON).write_text("{")
    with pytest.raises(ConfigError, match="cannot be read"):
        study.read(tmp_path)


def test_the_page_has_tables_verdict_failures_and_a_picture(tmp_path: Path) -> None:
    page = scaling_report.write(tmp_path, measured(), "ludus bench scale --game toy").read_text()
    assert "- Best: 2 hosts x 4 matches, 190 decisions/s." in page
    assert "- No smaller fleet size is within 5% of it." in page
    assert "- 2 hosts x 8: 1 of 1 failed: no host is left to play on: host 0 died" in page
    assert "| 2 | 4 | 190 | 190 to 190 | 5,760 | 16 of 16 | completed |" in page
    assert "| 2 | 4 | 95% | +90 | - | - |" in page
    assert "| 1 | 8 | - | - | 75% | +12 |" in page
    assert "no GPU (nvidia-smi finds none)" in page
    assert (tmp_path / scaling_report.PICTURE).read_bytes().startswith(b"\x89PNG")


def test_the_use_of_a_gpu_is_in_the_table_where_there_is_one() -> None:
    trial = Trial(
        size=FleetSize(1, 4), repeat=0, min_matches=1, done=1, decisions=9, seconds=1.0, gpu=GpuUse(0.3, 0.8, 1200.0)
    )
    page = scaling_report.markdown(
        Study(PLAN, MachineInfo("a", 2, "b", "NVIDIA H200"), [trial]), "ludus", picture=False
    )
    assert "30%, peak 80%, 1,200 MiB" in page
    assert "GPU: NVIDIA H200" in page
    assert "Incomplete: 1 of 4 trials have run." in page


def test_a_page_of_nothing_says_so(tmp_path: Path) -> None:
    page = scaling_report.write(tmp_path, Study(PLAN, MACHINE, []), "ludus bench scale").read_text()
    assert "No trial succeeded." in page
    assert not (tmp_path / scaling_report.PICTURE).exists()


def served() -> Study:
    """One host of 4 and of 8 matches, on one server and on two."""
    plan = msgspec.structs.replace(PLAN, hosts=(1,), servers=(1, 2))
    rates = {FleetSize(1, 4, 1): 100.0, FleetSize(1, 4, 2): 110.0, FleetSize(1, 8, 1): 120.0, FleetSize(1, 8, 2): 180.0}
    trials = [
        Trial(
            size=size,
            repeat=0,
            min_matches=2 * size.at_once,
            done=16,
            decisions=round(rate * 10),
            seconds=10.0,
            servers_cpu_mean_cores=0.5 * size.servers,
            servers_ram_mib=450.0 * size.servers,
        )
        for size, rate in rates.items()
    ]
    return Study(plan, MACHINE, trials)


def test_servers_are_an_axis_of_their_own_in_all_that_is_written(tmp_path: Path) -> None:
    study.write(tmp_path, served())
    assert study.read(tmp_path) == served()
    page = scaling_report.write(tmp_path, served(), "again").read_text()
    assert "Best: 2 servers, 1 host x 8 matches, 180 decisions/s." in page
    assert "| hosts | matches | servers | decisions/s |" in page
    assert "| of servers: CPU | RAM MiB |" in page
    assert "| by servers | gain per server |" in page
    assert "| 1 | 8 | 2 | - | - | 82% | +18 | 75% | +60 |" in page
    assert "1.00 | 900 |" in page
    assert (tmp_path / scaling_report.PICTURE).stat().st_size > 10_000
    with (tmp_path / study.CSV).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["servers"] for row in rows] == ["1", "2", "1", "2"]
    assert rows[1]["servers_ram_mib"] == "900.0"
    assert json.loads((tmp_path / study.JSON).read_text())["best"] == {"hosts": 1, "matches": 8, "servers": 2}


def test_a_picture_is_drawn_when_all_size_with_one_number_of_servers_failed(tmp_path: Path) -> None:
    trials = [each for each in served().trials if each.size.servers == 1 and each.size.matches == 4]
    failed = [Trial(size=each.size, repeat=0, min_matches=8, failure="given up") for each in served().trials[1:]]
    scaling_report.write(tmp_path, Study(served().plan, MACHINE, [*trials, *failed]), "again")
    assert (tmp_path / scaling_report.PICTURE).exists()


def test_a_benchmark_of_an_older_version_is_read(tmp_path: Path) -> None:
    study.write(tmp_path, measured())
    path = tmp_path / study.JSON
    names = {"trials": "turns", "size": "cell", "min_matches": "asked", "activities": "stages"}
    text = path.read_text()
    for name, old in names.items():
        text = text.replace(f'"{name}":', f'"{old}":')
    path.write_text(text)
    assert study.read(tmp_path) == measured()
