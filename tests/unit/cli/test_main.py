from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ludus
from ludus.cli import main as cli
from ludus.errors import SetupError

COMMANDS = ("train", "eval", "replay", "games", "doctor", "compare")


def ended(monkeypatch: pytest.MonkeyPatch, home: Path, *words: str) -> int:
    """The exit code of `ludus <words>`, run in this process."""
    monkeypatch.setenv("LUDUS_HOME", str(home))
    monkeypatch.setattr(sys, "argv", ["ludus", *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert isinstance(left.value.code, int)
    return left.value.code


def test_the_version_is_shown() -> None:
    assert CliRunner().invoke(cli.app, ["--version"]).output == f"ludus {ludus.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = CliRunner().invoke(cli.app, [command, "--help"], terminal_width=100)
    assert result.exit_code == 0
    assert f"Example: ludus {command}" in result.output


def test_a_known_error_is_one_line_and_its_traceback_is_in_the_log(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, tmp_path, "train", "gen1", "--set", "learner.ppo.clipp=1") == 2
    seen = capsys.readouterr()
    assert seen.err == "ludus: --set learner.ppo.clipp=1: unknown key; did you mean learner.ppo.clip?\n"
    assert seen.out == ""
    log = (tmp_path / "ludus.log").read_text()
    assert "Traceback" in log
    assert "ConfigError" in log


def test_an_unexpected_error_says_where_its_traceback_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr(cli, "app", fail)
    assert ended(monkeypatch, tmp_path) == 1
    seen = capsys.readouterr().err
    assert (
        seen
        == f"ludus: unexpected ZeroDivisionError: division; by zero; the traceback is in {tmp_path / 'ludus.log'}\n"
    )


def test_a_log_that_cannot_be_written_does_not_hide_the_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise SetupError("no node")

    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setattr(cli, "app", fail)
    assert ended(monkeypatch, tmp_path / "file") == 2
    assert capsys.readouterr().err == "ludus: no node\n"


def test_commands_that_need_no_torch_start_without_it() -> None:
    code = (
        "import sys; sys.modules['torch'] = None; sys.argv = ['ludus', 'games']; from ludus.cli import main; main.app()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "nim" in done.stdout
