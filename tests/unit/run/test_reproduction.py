from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.watched import Won, make_run, row

from ludus.config.settings import BudgetConfig, DataConfig, MetricsConfig, PrometheusConfig, RunConfig
from ludus.metrics.exporters.evaluations import EvaluationLog
from ludus.run import provenance, reproduction
from ludus.run.provenance import Provenance
from ludus.run.reproduction import Difference, RunOrigin

HERE = Provenance("0.1.0", "abc1234", 2, "Linux x86_64", {"python": "3.11.7", "torch": "2.4"})
EXACT = RunConfig(game="toy", mode="serial", budget=BudgetConfig(minutes=0, updates=5))


def then(**changes: object) -> Provenance:
    return msgspec.structs.replace(HERE, **changes)


def test_the_same_code_and_machine_have_no_difference_and_leave_no_doubt() -> None:
    origin = RunOrigin((HERE,), HERE)
    assert origin.differences() == []
    assert origin.doubts(EXACT) == []
    assert origin.commit == "abc1234"


def test_commit_machine_and_packages_are_compared() -> None:
    first = then(commit="ffff000", cores=16, packages={"torch": "2.3", "rocketsim": "2.2"})
    assert RunOrigin((first,), HERE).differences() == [
        Difference("commit", "ffff000", "abc1234"),
        Difference("cores", "16", "2"),
        Difference("torch", "2.3", "2.4"),
        Difference("rocketsim", "2.2", "none"),
        Difference("python", "unknown", "3.11.7"),
    ]


def test_whatever_makes_a_run_differ_is_named() -> None:
    overlapped = RunConfig(game="toy", mode="overlapped", budget=BudgetConfig(minutes=5))
    text = " ".join(RunOrigin((then(commit="abc1234+"), HERE), HERE).doubts(overlapped))
    for word in ("changes that no commit contains", "2 times", "mode: overlapped", "minutes"):
        assert word in text
    assert "no record" in RunOrigin((), HERE).doubts(EXACT)[0]


@pytest.mark.parametrize("commit", ["--upload-pack=x", "abc; rm -rf /", "HEAD", "g" * 8, "a" * 41, "abc1234\n", ""])
def test_a_text_that_is_no_commit_is_never_offered_as_one(commit: str) -> None:
    assert RunOrigin((then(commit=commit),), HERE).commit == ""


def test_texts_of_a_strangers_folder_lose_control_characters() -> None:
    difference = RunOrigin((then(system="\x1b[2J" + "x" * 500),), HERE).differences()[0]
    assert "\x1b" not in difference.then
    assert len(difference.then) == reproduction.SHOWN


def test_a_damaged_record_is_no_record(tmp_path: Path) -> None:
    (tmp_path / provenance.STARTS).write_text('{"version": 1}\nnot json\n')
    assert reproduction.origin(tmp_path, 2).first is None


def test_places_on_a_machine_are_listed() -> None:
    metrics = MetricsConfig(prometheus=PrometheusConfig(address="0.0.0.0"))
    config = RunConfig(game="toy", start_from="/home/me/run", data=DataConfig(folder="data/x"), metrics=metrics)
    assert list(reproduction.local_places(config)) == ["start_from", "data.folder", "metrics.prometheus"]
    assert reproduction.local_places(RunConfig(game="toy")) == {}


def test_final_results_are_compared_by_opponent(tmp_path: Path) -> None:
    before = make_run(tmp_path / "before")  # 80 of 100 against random
    for name, wins in (("same", 80), ("close", 75), ("far", 10)):
        (tmp_path / name).mkdir()
        with EvaluationLog(tmp_path / name / "evaluations.jsonl") as log:
            log.on_progress(row(1.0))
            log.on_evaluation([Won("random", 100, wins)], final=True)
    verdicts = [reproduction.compared(before, tmp_path / name)[0].verdict for name in ("same", "close", "far")]
    assert verdicts == ["equal", "intervals overlap", "differs"]
    assert reproduction.compared(before, tmp_path / "none") == []
