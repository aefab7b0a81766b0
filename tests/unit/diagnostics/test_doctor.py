from __future__ import annotations

import socket
from pathlib import Path

import pytest

from ludus.diagnostics import doctor
from ludus.games.showdown.install import Status


def status(*, installed: bool, node: Path | None) -> Status:
    return Status(installed, Path("cache"), "0.11.11", node, "24.0.0", "" if node else "no node here")


def test_a_port_in_use_is_noticed_and_a_free_one_is_ok() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        number = listener.getsockname()[1]
        taken = doctor.port(number)
    assert (taken.state, taken.seen) == ("note", "in use")
    assert "end what listens there" in taken.remedy
    assert doctor.port(number).state == "ok"


def test_missing_things_say_what_to_do() -> None:
    nothing = status(installed=False, node=None)
    for finding in (doctor.node(nothing), doctor.simulator(nothing), doctor.python((3, 10, 4)), doctor.memory(100)):
        assert finding.state == "missing"
        assert finding.remedy


def test_what_is_there_is_ok_and_says_what_it_is() -> None:
    whole = status(installed=True, node=Path("node"))
    found = [doctor.node(whole), doctor.simulator(whole), doctor.python((3, 12, 0)), doctor.memory(16_000)]
    assert {finding.state for finding in found} == {"ok"}
    assert "24.0.0" in found[0].seen
    assert "0.11.11" in found[1].seen


@pytest.mark.parametrize(("cores", "busy", "state"), [(8, 5.0, "ok"), (1, 5.0, "note"), (8, 90.0, "note")])
def test_few_or_busy_cores_are_worth_a_note(cores: int, busy: float, state: str) -> None:
    assert doctor.cores(cores, busy).state == state


@pytest.mark.parametrize(
    ("needed", "wanted", "state"), [(1, 1, "ok"), (1, 1 << 40, "note"), (1 << 40, 1 << 40, "missing")]
)
def test_free_space_is_looked_up_where_a_folder_will_be(tmp_path: Path, needed: int, wanted: int, state: str) -> None:
    finding = doctor.disk("disk", tmp_path / "not" / "yet", needed, wanted)
    assert finding.state == state
    assert str(tmp_path) in finding.seen


def test_everything_is_examined_in_one_go(tmp_path: Path) -> None:
    names = [finding.name for finding in doctor.examine(tmp_path, ports=[6006])]
    for name in ("python", "torch", "devices", "node", "simulator", "cores", "memory", "disk", "port 6006"):
        assert name in names
