from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from scripts import keep_comparison, keep_run, readme_table

from ludus.run.provenance import STARTS, Provenance


def run_in(folder: Path, *starts: Provenance) -> Path:
    """What a finished run leaves."""
    score = {"opponent": "random", "matches": 400, "wins": 390, "losses": 8, "ties": 2}
    final = {"final": True, "training_s": 600.0, "decisions": 1000, "updates": 9, "scores": [score]}
    (folder / "evaluations.jsonl").write_text(json.dumps(final) + "\n")
    (folder / "config.yaml").write_text("game: showdown\noptions: {format: gen1randombattle}\n")
    if starts:
        (folder / STARTS).write_bytes(b"".join(msgspec.json.encode(start) + b"\n" for start in starts))
    return folder


def test_a_run_is_kept_with_the_commits_and_the_machine_it_ran_on(tmp_path: Path) -> None:
    starts = (Provenance("0.1.0", "aaaa", 8, "Linux arm64"), Provenance("0.1.0", "bbbb+", 2, "Linux x86_64"))
    line = keep_run.run_record(run_in(tmp_path, *starts, starts[1]), "gen1")
    assert line["commit"] == "aaaa, bbbb+"
    assert line["machine"] == {"cores": 2, "system": "Linux x86_64"}
    assert line["scores"]["random"]["wins"] == 390


def test_a_run_on_a_gpu_names_it(tmp_path: Path) -> None:
    line = keep_run.run_record(run_in(tmp_path, Provenance("0.1.0", "aaaa", 16, "Linux", gpu="NVIDIA H200")), "gen9")
    assert line["machine"]["gpu"] == "NVIDIA H200"
    assert "gen9.md): 10 min, 16 cores and NVIDIA H200, 0.0 M decisions |" in readme_table.strength([json.dumps(line)])


def test_a_run_of_an_installed_package_is_kept_with_its_version(tmp_path: Path) -> None:
    assert keep_run.run_record(run_in(tmp_path, Provenance("0.1.0", "", 2, "Linux")), "gen1")["commit"] == "ludus 0.1.0"


def test_a_run_that_did_not_note_its_commit_must_be_given_one(tmp_path: Path) -> None:
    run_in(tmp_path)
    with pytest.raises(SystemExit, match="name the commit"):
        keep_run.run_record(tmp_path, "gen1")
    assert keep_run.run_record(tmp_path, "gen1", "cccc")["commit"] == "cccc"


def test_a_comparison_keeps_what_an_evaluation_by_many_matches_said(tmp_path: Path) -> None:
    run = run_in(tmp_path, Provenance("0.1.0", "aaaa", 2, "Linux"))
    scores = [{"opponent": name, "matches": 4000, "wins": wins, "ties": 9} for name, wins in (("a", 3499), ("b", 3576))]
    line = keep_comparison.line("gen1-long", run, {"seed": 20000, "results": scores})
    assert line["commit"] == "aaaa"
    assert line["scores"]["b"] == {"matches": 4000, "wins": 3576, "ties": 9, "interval": [0.8841, 0.9032]}
    assert "| gen1-long | 87.5% (86.4% to 88.5%) | 89.4% (88.4% to 90.3%) |" in readme_table.longer([json.dumps(line)])
