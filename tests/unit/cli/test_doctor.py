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
