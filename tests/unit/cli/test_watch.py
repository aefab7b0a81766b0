"""`ludus watch` as a command: what it refuses, and the file that --export writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watched import make_run
from typer.testing import CliRunner

from ludus.cli.main import app
from ludus.errors import ConfigError
from ludus.watch import assets


def test_an_exported_page_is_one_file_with_the_charts_in_it(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    before = {path: path.read_bytes() for path in run.iterdir()}
    page = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["watch", str(run), "--export", str(page)])
    assert result.exit_code == 0, result.output
    assert "open it in a browser, also without a network" in result.output
    text = page.read_text()
    assert "uPlot.js" in text
    assert 'src="' not in text
    assert {path: path.read_bytes() for path in run.iterdir()} == before


def test_a_folder_without_a_run_and_a_folder_as_page_are_refused(tmp_path: Path) -> None:
    empty = CliRunner().invoke(app, ["watch", str(tmp_path)])
    assert isinstance(empty.exception, ConfigError)
    assert "holds no run" in str(empty.exception)
    run = make_run(tmp_path / "run")
    wrong = CliRunner().invoke(app, ["watch", str(run), "--export", str(tmp_path)])
    assert isinstance(wrong.exception, ConfigError)
    assert "is a folder; name a file" in str(wrong.exception)


def test_without_uplot_the_page_is_written_and_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assets, "CHARTS_PACKAGE", "no-such-package")
    run = make_run(tmp_path / "run")
    result = CliRunner().invoke(app, ["watch", str(run), "--export", str(tmp_path / "page.html")])
    assert result.exit_code == 0
    assert "charts are left out; for them: pip install 'ludus-rl[watch]'" in result.output
    assert "learner.lr" in (tmp_path / "page.html").read_text()
