"""`ludus generate` and `ludus data`, as a user types them."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ludus.cli.main import app
from ludus.errors import ConfigError, LudusError


def run(*words: str | Path, status: int = 0) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})
    if isinstance(result.exception, LudusError):
        raise result.exception
    assert result.exit_code == status, result.output
    return result.output


def generate(folder: Path, *more: str) -> str:
    policies = ("--a", "scripted:perfect", "--b", "scripted:random")
    return run("generate", "--game", "toy:nim", *policies, "--matches", "40", "--workers", "1", "--out", folder, *more)


def test_a_dataset_from_its_first_match_to_an_export(tmp_path: Path) -> None:
    data = tmp_path / "nim"
    output = generate(data)
    assert "40 of 40 matches are in" in output
    assert "scripted:perfect" in output
    assert "decisions have rows" in run("data", "render", data, "--workers", "1")
    assert "are up to date" in run("data", "render", data, "--workers", "1")
    info = run("data", "info", data)
    assert "40 matches of 40 planned" in info
    assert "matches can be played again" in info
    assert "0 damaged files; usable: 40 matches" in run("data", "check", data)
    same = run("data", "agreement", data, "scripted:perfect", "--of", "scripted:perfect", "--held-out", "0")
    assert "same action in 100.00%" in same
    assert "20 matches" in run("data", "filter", data, "--newest", "20", "--out", tmp_path / "some")
    merged = run("data", "merge", data, tmp_path / "some", "--out", tmp_path / "both")
    assert "40 matches" in merged
    assert "20 repeated matches were left out" in merged
    pytest.importorskip("pyarrow")
    assert "decisions are in" in run("data", "export", data, "--to", "parquet", "--out", tmp_path / "parquet")
    assert list((tmp_path / "parquet").glob("*.parquet"))


def test_check_fails_for_a_damaged_dataset_and_names_the_file(tmp_path: Path) -> None:
    generate(tmp_path / "nim")
    (path,) = (tmp_path / "nim" / "ledger").iterdir()
    path.write_bytes(path.read_bytes() + b"!")
    assert "000000.ledger is damaged" in run("data", "check", tmp_path / "nim", status=2).replace("\n", " ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--a", "scripted:perfekt"), r"--a: toy has no scripted policy 'perfekt'; did you mean perfect"),
        (("--a", "runs/nothing"), r"--a: there is no run or checkpoint 'runs/nothing'; a scripted policy is scripted:"),
        (("--a", "scripted:perfect", "--b", "scripted:random", "--matches", "3"), r"--matches: 3 cannot be split"),
        (("--a", "scripted:perfect", "--on", "mars"), r"--on: must be engine or servers"),
        (("--a", "scripted:perfect", "--on", "servers"), r"--on servers: toy is played without servers"),
    ],
)
def test_arguments_that_cannot_work_are_refused_with_their_name(
    words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        run("generate", "--game", "toy:nim", "--out", tmp_path / "data", *words)
    assert not (tmp_path / "data").exists()
