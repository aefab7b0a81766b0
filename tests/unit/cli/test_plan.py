from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ludus.cli import main, plan
from ludus.errors import ConfigError


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    row = {"median": 200.0, "low": 180.0, "high": 240.0}
    line = {"hosts": 2, "repeats": 5, "machine": {"cpu": "CPU", "cores": 2}, "rows": {"train": row}}
    (tmp_path / "bench.jsonl").write_text(json.dumps(line))
    return tmp_path / "bench.jsonl"


def planned(*words: object) -> str:
    result = CliRunner().invoke(main.app, ["plan", *map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(
    ("text", "value"), [("10e6", 10e6), ("1E+9", 1e9), ("10M", 10e6), ("1.5G", 1.5e9), ("250_000", 250e3), ("7", 7)]
)
def test_numbers_are_read_with_exponents_and_suffixes(text: str, value: float) -> None:
    assert plan.amount(text, "--matches") == value


@pytest.mark.parametrize("text", ["", "0", "-1", "10 M", "1e999", "ten", "nan", "inf", "1e30", "10m"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--matches: must be a number from 1 to 1e\+18 as in 10e6, 10M or 250_000"):
        plan.amount(text, "--matches")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--measured", "BENCH"], "give one goal: --matches 10e6 or --decisions 1e9"),
        (["--matches", "1", "--decisions", "1"], "give one goal"),
        (["--decisions", "1e9"], "a plan needs a measured speed, and none is assumed; measure one"),
        (["--decisions", "1e9", "--deadline", "48", "--measured", "BENCH"], "--deadline: give a unit, as in 48h"),
        (["--decisions", "1e9", "--machine", "c5.4xlarg", "--measured", "BENCH"], "did you mean c5.4xlarge"),
    ],
)
def test_what_is_missing_or_unclear_is_said(words: list[str], message: str, benchmark: Path) -> None:
    given = [str(benchmark) if word == "BENCH" else word for word in words]
    with pytest.raises(ConfigError, match=message):
        CliRunner().invoke(main.app, ["plan", *given], catch_exceptions=False)


def test_the_plan_names_measurement_learner_prices_and_the_cheapest_mix(benchmark: Path) -> None:
    output = planned("--decisions", "1e9", "--measured", benchmark, "--deadline", "48h", "--spot")
    for words in (
        "200 (180 to 240) decisions/s in training, range over 5 repeats",
        "its limit is unknown",
        "which are no quotes",
        "One machine of each kind, on demand",
        "Interruptions expected of c5.4xlarge spot",
        "Cheapest for 48.0 h: 1 x ",
        "interruptions, which lose",
    ):
        assert words in output


def test_json_holds_the_same_plan(benchmark: Path) -> None:
    text = planned("--decisions", "1e9", "--measured", benchmark, "--deadline", "1.5d", "--spot", "--json")
    page = json.loads(text)
    assert page["goal"] == {"amount": 1e9, "unit": "decisions", "deadline_h": 36.0, "spot": True}
    assert page["measurement"]["decisions_per_s"] == {"median": 200.0, "low": 180.0, "high": 240.0}
    assert page["cheapest"]["hours"]["high"] <= 36.0
    assert sum(group["count"] for group in page["cheapest"]["groups"]) == page["cheapest"]["machines"]


def test_a_deadline_that_cannot_be_met_is_said(benchmark: Path, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("date: 2026-01-31\nmachines: [{name: own, cores: 2, on_demand: 0, most: 1}]")
    words = ("--decisions", "1e9", "--measured", benchmark, "--prices", tmp_path / "one.yaml", "--deadline", "1h")
    assert "No mix of these machines meets 1.0 h" in planned(*words)
