from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ludus.cli.main import app


def test_a_machine_without_the_simulator_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUDUS_HOME", str(tmp_path / "empty"))
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "ludus doctor --fix" in result.output
    assert "Not ready: simulator" in result.output
    assert not (tmp_path / "empty").exists()


def test_no_path_is_cut_off_on_a_narrow_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ("long" * 20)
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    output = CliRunner().invoke(app, ["doctor"]).output
    assert "…" not in output
    assert str(folder) in "".join(line.strip() for line in output.splitlines())
