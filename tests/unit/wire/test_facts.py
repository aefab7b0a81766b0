from __future__ import annotations

import pytest

from ludus import limits
from ludus.errors import ProtocolError
from ludus.wire.facts import FactNames


def named(start: int, stop: int) -> dict[str, float]:
    return {f"fact {number}": 1.0 for number in range(start, stop)}


def test_facts_of_every_seat_count_as_one_name() -> None:
    names = FactNames()
    for number in range(limits.FACTS):
        facts = {f"fact {number}@{seat}": 1.0 for seat in range(6)}
        assert names.admit(0, facts, 6) == facts


def test_host_with_more_names_than_it_may_use_breaks_the_protocol() -> None:
    names = FactNames()
    names.admit(0, named(0, 40), 2)
    with pytest.raises(ProtocolError, match="one more than the 64 names a host may use"):
        names.admit(0, named(40, 80), 2)
    assert names.admit(1, named(100, 104), 2) == named(100, 104)


def test_names_that_others_brought_do_not_count_against_a_host() -> None:
    names = FactNames()
    names.admit(0, named(0, 60), 2)
    assert names.admit(1, named(0, 60), 2) == named(0, 60)
    assert names.admit(1, named(100, 160), 2) == named(100, 160)


def test_fleet_leaves_out_facts_when_it_has_enough_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    names = FactNames()
    for host in range(4):
        names.admit(host, named(64 * host, 64 * host + 64), 2)
    assert names.admit(4, {"turns": 1.0, "fact 3": 2.0}, 2) == {"fact 3": 2.0}
    assert names.admit(5, {"moves": 1.0}, 2) == {}
    assert len(caplog.records) == 1


@pytest.mark.parametrize("name", ["", "x" * 65, "two\nlines", "\x1b[31m", "nul\0"])
def test_name_that_cannot_stand_in_a_table_breaks_the_protocol(name: str) -> None:
    with pytest.raises(ProtocolError, match="expected 1 to 64 printable characters"):
        FactNames().admit(0, {name: 1.0}, 2)


def test_other_ways_to_write_a_seat_are_names_of_their_own() -> None:
    names = FactNames()
    with pytest.raises(ProtocolError, match="one more than"):
        names.admit(0, {f"fact@{'0' * zeros}1": 1.0 for zeros in range(1, 59)} | named(0, 7), 2)
