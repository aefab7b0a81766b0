"""Faults on a real Forge: a host is killed or stops, matches hang, memory ends, decks cannot be played."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.forge import installed

from ludus.errors import FleetError, LudusError

DECK = "[metadata]\nName=Broken\n[main]\n{}\n"


def test_a_killed_host_loses_its_own_matches_only(tmp_path: Path) -> None:
    with installed.fleet(tmp_path, hosts=2, matches=2) as fleet:
        installed.play(fleet, 1)
        os.kill(fleet.pids[0], signal.SIGKILL)
        endings, _ = installed.play(fleet, 8)
    lost = [ending for ending in endings if ending.void]
    assert 1 <= len(lost) <= 2
    assert all("died" in ending.void for ending in lost)


def test_a_host_that_stops_is_replaced(tmp_path: Path) -> None:
    config = replace(installed.FLEET, reply_deadline_s=20.0)
    with installed.fleet(tmp_path, matches=2, config=config) as fleet:
        installed.play(fleet, 1)
        os.kill(fleet.pids[0], signal.SIGSTOP)
        endings, _ = installed.play(fleet, 4)
    reasons = [ending.void for ending in endings if ending.void]
    assert 1 <= len(reasons) <= 2  # a match may have ended just before
    assert set(reasons) == {"hung"}


def test_matches_that_hang_are_voided_and_the_process_is_replaced(tmp_path: Path) -> None:
    """No decision keeps a deadline that short: each process is replaced, and in the end the host is given up."""
    hung = r"3 matches hung: Forge returned no decision within 0\.001 s"
    fleet = installed.fleet(tmp_path, matches=1, deadline_s=0.001, hung_matches=3, forge_ai=False)
    with fleet as running, pytest.raises(FleetError, match=hung):
        installed.play(running, 1_000)
    assert (tmp_path / "host-0.log").read_text().count("Forge returned no decision within 0.001 s") >= 10


def test_a_heap_that_is_too_small_ends_the_process_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(LudusError) as refused, installed.fleet(tmp_path, heap_mib=16):
        pass
    assert "OutOfMemoryError" in str(refused.value) or "status 3" in str(refused.value)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("60 No Such Card At All", "No Such Card At All"),
        ("20 Mountain", "Forge says"),
        ("56 Mountain\n5 Lightning Bolt", "Forge says"),
    ],
)
def test_a_deck_that_cannot_be_played_is_refused_with_forges_reason(tmp_path: Path, lines: str, reason: str) -> None:
    deck = tmp_path / "broken.dck"
    deck.write_text(DECK.format(lines))
    with pytest.raises(LudusError, match=reason), installed.fleet(tmp_path / "logs", decks=str(deck)):
        pass


def test_a_file_that_is_no_deck_is_refused(tmp_path: Path) -> None:
    deck = tmp_path / "noise.dck"
    deck.write_text("this is no deck\n")
    with pytest.raises(LudusError, match=r"noise\.dck"), installed.fleet(tmp_path / "logs", decks=str(deck)):
        pass
