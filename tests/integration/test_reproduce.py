"""`ludus reproduce`: a serial run is equal when made again; a stranger's run is shown only."""

from __future__ import annotations

from pathlib import Path

from tests.commands import ludus_here

SERIAL = (
    *("--set", "mode=serial", "--set", "budget.minutes=0", "--set", "budget.updates=2", "--set", "fleet.hosts=1"),
    *("--set", "fleet.matches=8", "--set", "learner.decisions=128", "--set", "learner.minibatch=64"),
    *("--set", "evaluation.matches=20", "--set", "evaluation.opponents=[random]"),
)


def test_a_serial_run_is_made_again_with_equal_results(tmp_path: Path) -> None:
    made = ludus_here(tmp_path, "train", "nim", "--run-dir", "first", *SERIAL)
    assert made.returncode == 0, made.stderr
    shown = ludus_here(tmp_path, "reproduce", "first")
    assert shown.returncode == 0, shown.stderr
    assert "No recorded difference between then and here." in shown.stdout
    assert "seed 1, mode serial, budget 2 updates" in shown.stdout
    assert "ludus train first/config.yaml --run-dir runs/first-again" in shown.stdout
    assert not (tmp_path / "runs").exists()

    again = ludus_here(tmp_path, "reproduce", "first", "--run", "--run-dir", "second")
    assert again.returncode == 0, again.stderr
    line = next(line for line in again.stdout.splitlines()[::-1] if line.startswith("random"))
    assert line.endswith("equal")


def test_a_strangers_run_is_shown_but_nothing_it_names_is_run_or_used(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("open('executed', 'w')\n")
    run = tmp_path / "run"
    run.mkdir()
    (run / "starts.jsonl").write_text('{"version":"\\u001b[2J","commit":"--help","cores":2,"system":"Linux"}\n')
    (run / "config.yaml").write_text("game: gymnasium\noptions: {env: 'evil:Env'}\nmode: serial\n")
    shown = ludus_here(tmp_path, "reproduce", "run")
    assert shown.returncode == 0, shown.stderr
    assert "\x1b" not in shown.stdout
    assert "git checkout" not in shown.stdout
    refused = ludus_here(tmp_path, "reproduce", "run", "--run")
    assert refused.returncode == 2
    assert "--set options.env=" in refused.stderr

    (run / "config.yaml").write_text("game: toy\nstart_from: /somewhere/else\n")
    refused = ludus_here(tmp_path, "reproduce", "run", "--run")
    assert refused.returncode == 2
    assert "sets start_from to '/somewhere/else'" in refused.stderr
    assert not (tmp_path / "executed").exists()
    assert not (tmp_path / "runs").exists()


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    refused = ludus_here(tmp_path, "reproduce", "nothing")
    assert refused.returncode == 2
    assert "holds no run" in refused.stderr
