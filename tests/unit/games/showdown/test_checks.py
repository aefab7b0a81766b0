from __future__ import annotations

from pathlib import Path

from ludus.games.showdown import checks
from ludus.games.showdown.install import Status


def status(*, installed: bool, node: Path | None) -> Status:
    return Status(installed, Path("cache"), "0.11.11", node, "24.0.0", "" if node else "no node here")


def test_a_missing_node_or_simulator_comes_with_a_remedy() -> None:
    nothing = status(installed=False, node=None)
    for finding in (checks.node(nothing), checks.simulator(nothing)):
        assert finding.state == "missing"
        assert finding.remedy


def test_node_and_simulator_are_shown_with_their_versions() -> None:
    whole = status(installed=True, node=Path("node"))
    findings = [checks.node(whole), checks.simulator(whole)]
    assert {finding.state for finding in findings} == {"ok"}
    assert "24.0.0" in findings[0].detail
    assert "0.11.11" in findings[1].detail
