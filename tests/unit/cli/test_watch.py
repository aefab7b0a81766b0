"""`ludus watch` as a command: what it refuses, and the file that --export writes."""

from __future__ import annotations

import io
import re
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest
from rich.console import Console
from tests.commands import ludus
from tests.watched import make_run
from typer.testing import CliRunner

from ludus.cli.main import app
from ludus.cli.train_watch import RunPage
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


def test_uplot_is_found_in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make` puts it there, because the package's Python code needs packages that the page does not."""
    package = tmp_path / "other_charts-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: other-charts\nVersion: 1.0\n")
    monkeypatch.setattr(assets, "CHARTS_PACKAGE", "other-charts")
    monkeypatch.setattr(assets, "CHARTS_FOLDER", tmp_path)
    assert not assets.has_charts()  # the package lacks its files
    for name in assets.CHARTS.values():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("/* charts */")
    assert assets.has_charts()


def test_a_run_shows_its_page_while_it_trains_and_prints_the_address(tmp_path: Path) -> None:
    short = ("--set", "budget.updates=3", "--set", "budget.minutes=0", "--set", "evaluation.matches=2")
    done = ludus(tmp_path, "train", "nim", "--run-dir", "run", "--watch", *short)
    assert done.returncode == 0, done.stderr
    words = r"^To see it in a browser on this machine while it trains: http://127\.0\.0\.1:\d+/\S+/$"
    assert re.search(words, done.stdout, re.MULTILINE)
    assert psutil.Process().children(recursive=True) == []


def test_the_address_answers_while_the_page_is_open_and_no_more_afterwards(tmp_path: Path) -> None:
    make_run(tmp_path / "run", 3)
    output = io.StringIO()
    with RunPage(tmp_path / "run", Console(file=output, width=200)):
        address = output.getvalue().split()[-1]
        with urllib.request.urlopen(address, timeout=20) as answer:
            assert b"<title>" in answer.read()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=5)


def test_a_page_that_cannot_start_does_not_stop_the_run(tmp_path: Path) -> None:
    output = io.StringIO()
    with RunPage(tmp_path / "nothing", Console(file=output, width=200)):
        pass
    assert output.getvalue().startswith("The page could not be started; try: ludus watch")
