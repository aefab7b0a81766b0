"""The small files of a run: what they answer, and what a damaged or hostile folder may do (nothing)."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from tests.watched import make_run

from ludus.errors import ConfigError
from ludus.evaluation import report
from ludus.run import lock, provenance
from ludus.watch import run_files, runs_folder, status
from ludus.watch.answers import Answers
from ludus.watch.runs_folder import Runs

FILES = ("config.yaml", "progress.csv", "evaluations.jsonl", "run.log", "starts.jsonl", "activities.json", "lock")

READERS = (run_files.config, run_files.evaluations, run_files.log, run_files.starts, run_files.activities)


def test_the_names_of_files_are_those_that_a_run_writes() -> None:
    assert (runs_folder.PROGRESS, runs_folder.EVALUATIONS) == (report.PROGRESS, report.EVALUATIONS)
    assert (runs_folder.LOCK, runs_folder.STARTS) == (lock.LOCK, provenance.STARTS)


def test_evaluations_have_win_rates_with_intervals_and_keep_further_numbers(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    with (run / "evaluations.jsonl").open("a") as file:
        file.write('{"training_s":30,"final":false,"elo":1234.5,"elo_interval":[1200,1260],"scores":[]}\n{"torn')
    first, second = run_files.evaluations(run)
    (score,) = first["scores"]
    assert (score["opponent"], score["win_rate"], first["final"]) == ("random", 0.8, True)
    assert score["interval"] == pytest.approx((0.7112, 0.8666), abs=1e-3)
    assert (second["elo"], second["elo_interval"]) == (1234.5, [1200, 1260])


def test_the_log_gives_each_line_its_level(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    with (run / "run.log").open("a") as file:
        file.write("2026-01-01 10:00:02,000 ERROR ludus: the run stopped\nTraceback (most recent call last):\n")
    assert [line["level"] for line in run_files.log(run)] == ["INFO", "WARNING", "ERROR", "ERROR"]


def test_settings_are_listed_by_their_path(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    assert run_files.config(run) == {"game": "toy", "options.game": "nim", "learner.lr": 0.001, "seed": 7}


def test_saved_matches_are_listed_with_their_pages(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (run / "replays").mkdir()
    match = {"policies": ["agent", "random"], "score": [1.0, 0.0], "turns": 12.0}
    (run / "replays" / "1.ludus.json").write_bytes(msgspec.json.encode(match))
    (run / "replays" / "2.ludus.json").write_text("damaged")
    (run / "replays" / "1.html").write_text("<p>page</p>")
    (run / "replays" / "alone.html").write_text("<p>alone</p>")
    one, two, alone = run_files.matches(run)
    assert (one["policies"], one["score"], one["page"]) == (["agent", "random"], [1.0, 0.0], "1.html")
    assert (two["name"], two["page"]) == ("2.ludus.json", None)
    assert alone == {"name": "alone.html", "page": "alone.html"}
    assert run_files.page(run, "1.html") == b"<p>page</p>"


@pytest.mark.parametrize(
    "name", ["../config.yaml", "../../other.html", "/etc/hostname", "a\0.html", "1.ludus.json", ""]
)
def test_only_pages_of_saved_matches_are_read(tmp_path: Path, name: str) -> None:
    run = make_run(tmp_path / "run")
    (tmp_path / "other.html").write_text("secret")
    assert run_files.page(run, name) is None


def test_files_outside_and_files_that_block_are_not_read(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (tmp_path / "secret").write_text("game: secret\n")
    for name in FILES:
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(tmp_path / "secret")
    assert [reader(run) for reader in READERS] == [{}, [], [], [], {}]
    for name in FILES:
        (run / name).unlink()
        os.mkfifo(run / name)
    assert [reader(run) for reader in READERS] == [{}, [], [], [], {}]
    assert status.state(run, has_final=False) == "stopped"


@pytest.mark.parametrize(
    "content", [b"", b"\0\xff\xfe", b"[" * 100_000, b"{}", b"null", b'{"scores":[1,{"opponent":2}]}']
)
def test_damaged_files_give_empty_answers(tmp_path: Path, content: bytes) -> None:
    run = make_run(tmp_path / "run")
    for name in FILES:
        (run / name).write_bytes(content)
    assert "seed" not in run_files.config(run)
    assert run_files.activities(run) == {}
    assert all(evaluation["scores"] == [] for evaluation in run_files.evaluations(run))
    assert status.holder_of(run) is None


def test_runs_are_found_in_a_folder_the_latest_first(tmp_path: Path) -> None:
    for index, name in enumerate(("old", "new")):
        for file in make_run(tmp_path / name).iterdir():
            os.utime(file, (1000 + index, 1000 + index))
    (tmp_path / "no-run").mkdir()
    (tmp_path / "file").write_text("")
    runs = Runs(tmp_path)
    assert runs.names() == ["new", "old"]
    assert runs.path("old") == tmp_path / "old"
    elsewhere = ("no-run", "..", ".", "", "/", "old/../new", str(tmp_path / "new"))
    assert [name for name in elsewhere if runs.path(name) is not None] == []


def test_the_folder_of_one_run_is_that_run(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    runs = Runs(run)
    assert (runs.names(), runs.path("run"), runs.path("other")) == (["run"], run, None)


def test_a_folder_without_a_run_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no run: neither it nor a folder in it has a config.yaml"):
        Runs(tmp_path)
    with pytest.raises(ConfigError, match="is no folder; name the folder of a run"):
        Runs(tmp_path / "missing")


def test_a_run_is_running_while_the_process_of_its_lock_lives(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    assert status.state(run, has_final=True) == "finished"
    with lock.hold(run):
        assert status.state(run, has_final=False) == "running"
        uses = status.Processes().of(run)
        assert [use.role for use in uses][:1] == ["learner"]
        assert uses[0].pid == os.getpid()
        assert uses[0].memory_mib > 1
    gone = lock.Holder(2**22 + 1, lock.Holder.here().host, "2026-01-01", "ludus train")
    (run / "lock").write_bytes(msgspec.json.encode(gone))
    assert status.state(run, has_final=False) == "died"
    elsewhere = lock.Holder(1, "another-machine", "2026-01-01", "ludus train")
    (run / "lock").write_bytes(msgspec.json.encode(elsewhere))
    assert status.state(run, has_final=False) == "running"  # its progress.csv was written just now
    os.utime(run / "progress.csv", (1000, 1000))
    assert status.state(run, has_final=False) == "died"


def test_a_run_of_an_older_version_shows_what_it_has(tmp_path: Path) -> None:
    run = tmp_path / "old"
    run.mkdir()
    (run / "config.yaml").write_text("game: toy\nlearner: {clip: 0.2}\npolicy: {memory: {kind: gru}}\n")
    (run / "progress.csv").write_text("progress/training_s,speed/decisions_per_s,stage/old_name\n1,100,5\n2,,6\n")
    (run / "stages.json").write_text(
        '{"times": {"walls": {"actor": 1e9}, "stages": {"actor/policies": {"total_ns": 5e8, "passes": 5}}}, '
        '"hosts": 1, "cores": 2}'
    )
    (run / "evaluations.jsonl").write_text('{"training_s": 1.0, "scores": [{"opponent": "random", "win_rate": 0.5}]}\n')
    answer = Answers(Runs(run)).to("run", {"run": "old"})
    assert answer["numbers"]["stage/old_name"] == 6
    assert answer["numbers"]["progress/training_s"] == 2
    assert answer["damaged"] == 0
    assert [(line["part"], line["share"]) for line in answer["activities"]["lines"]] == [
        ("policies", 0.5),
        ("other", 0.5),
    ]
    assert answer["evaluations"][0]["scores"][0]["win_rate"] == 0.5
    assert answer["starts"] == []
    settings = Answers(Runs(run)).to("config", {"run": "old"})["settings"]
    assert settings["learner.clip"] == 0.2
