from __future__ import annotations

import socket
from pathlib import Path

import pytest

from ludus.games import checks


def test_a_port_in_use_is_noticed_and_a_free_one_is_ok() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        number = listener.getsockname()[1]
        taken = checks.port(number, "a page")
    assert (taken.state, taken.detail) == ("note", "in use")
    assert taken.remedy.startswith("only a page needs it")
    free = checks.port(number, "a page")
    assert (free.state, free.detail) == ("ok", "free for a page")


@pytest.mark.parametrize(
    ("needed", "wanted", "state"), [(1, 1, "ok"), (1, 1 << 40, "note"), (1 << 40, 1 << 40, "missing")]
)
def test_free_space_is_looked_up_where_a_folder_will_be(tmp_path: Path, needed: int, wanted: int, state: str) -> None:
    finding = checks.disk("disk", tmp_path / "not" / "yet", needed, wanted)
    assert finding.state == state
    assert str(tmp_path) in finding.detail
