from __future__ import annotations

from pathlib import Path

import pytest

from ludus.diagnostics import doctor
from ludus.errors import ConfigError
from ludus.games import registry


def test_missing_things_say_what_to_do() -> None:
    for finding in (doctor.python((3, 10, 4)), doctor.memory(100)):
        assert finding.state == "missing"
        assert finding.remedy


def test_what_is_there_is_ok_and_says_what_it_is() -> None:
    findings = [doctor.python((3, 12, 0)), doctor.memory(16_000)]
    assert {finding.state for finding in findings} == {"ok"}
    assert "3.12.0" in findings[0].detail


@pytest.mark.parametrize(("cores", "busy", "state"), [(8, 5.0, "ok"), (1, 5.0, "note"), (8, 90.0, "note")])
def test_few_or_busy_cores_are_worth_a_note(cores: int, busy: float, state: str) -> None:
    assert doctor.cores(cores, busy).state == state


def test_everything_is_examined_in_one_go(tmp_path: Path) -> None:
    names = [finding.name for finding in doctor.examine(tmp_path)]
    for name in ("python", "torch", "devices", "cores", "memory", "disk", "port 6006"):
        assert name in names
    for name in ("node", "simulator", "port 8000"):  # the checks of showdown
        assert name in names


def test_a_game_that_cannot_be_loaded_is_a_note_among_the_other_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> registry.Game:
        raise ConfigError(f"game: {name!r} of chess-package cannot be loaded")

    monkeypatch.setattr(registry, "load", load)
    finding = next(finding for finding in doctor.examine(tmp_path) if finding.name == "toy")
    assert finding.state == "note"
    assert "chess-package" in finding.detail
