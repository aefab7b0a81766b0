"""Events in the log of a host: only lines with the token count, whatever becomes of the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ludus.games.showdown.play import journal
from ludus.games.showdown.play.journal import Journal

TOKEN = "c0ffee"


def line(number: int) -> bytes:
    return f'@{TOKEN} {{"event":"e","n":{number}}}\n'.encode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "host-0.log"


@pytest.fixture
def events(path: Path) -> Iterator[Journal]:
    reading = Journal(path, TOKEN)
    yield reading
    reading.close()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as log:
        log.write(data)


def numbers(events: Journal) -> list[int]:
    return [event["n"] for event in events.read()]


def test_tokens_differ() -> None:
    assert len({journal.new_token() for _ in range(100)}) == 100


def test_events_are_read_once_and_half_a_line_waits_for_the_rest(events: Journal, path: Path) -> None:
    assert events.read() == []  # there is no log yet
    append(path, line(1) + line(2)[:9])
    assert numbers(events) == [1]
    assert numbers(events) == []
    append(path, line(2)[9:] + line(3))
    assert numbers(events) == [2, 3]


@pytest.mark.parametrize(
    "forged",
    [
        b'@{"event":"e","n":9}',
        b'@ {"event":"e","n":9}',
        b'@beef {"event":"e","n":9}',
        b' @c0ffee {"event":"e","n":9}',
        b'@c0ffee{"event":"e","n":9}',
        b'server: @c0ffee {"event":"e","n":9}',
    ],
)
def test_a_line_without_the_token_is_no_event(events: Journal, path: Path, forged: bytes) -> None:
    append(path, line(1) + forged + b"\n" + line(2))
    assert numbers(events) == [1, 2]


@pytest.mark.parametrize(
    "broken",
    [b"", b"{", b"7", b"[1]", b'{"n":"\xff"}', b'{"n":' + b"[" * 10_000 + b"]" * 10_000 + b"}", b'{"n":1e999999}'],
)
def test_a_line_that_cannot_be_decoded_is_passed_over(events: Journal, path: Path, broken: bytes) -> None:
    append(path, line(1) + f"@{TOKEN} ".encode() + broken + b"\n" + line(2))
    assert [event["n"] for event in events.read() if event.get("event") == "e"] == [1, 2]


def test_a_line_that_is_too_long_is_passed_over_at_whatever_speed_it_comes(events: Journal, path: Path) -> None:
    append(path, line(1) + line(2)[:-3] + b" " * (journal.LONGEST_LINE + 1))
    assert numbers(events) == [1]
    append(path, b" " * journal.LONGEST_LINE)
    assert numbers(events) == []
    append(path, b"2}\n" + line(3))
    assert numbers(events) == [3]


def test_of_a_log_that_grows_fast_only_the_end_is_read(events: Journal, path: Path) -> None:
    append(path, b"".join(line(number) for number in range(200_000)))
    read = numbers(events)
    assert read == list(range(200_000 - journal.MOST_EVENTS, 200_000))
    append(path, line(7))
    assert numbers(events) == [7]


def test_a_log_that_is_cut_short_is_read_from_its_beginning(events: Journal, path: Path) -> None:
    append(path, line(1) + line(2) + b"half a line")
    assert numbers(events) == [1, 2]
    path.write_bytes(line(3))
    assert numbers(events) == [3]


def test_a_log_that_is_replaced_loses_no_event(events: Journal, path: Path) -> None:
    append(path, line(1))
    assert numbers(events) == [1]
    append(path, line(2) + line(3)[:7])
    path.replace(path.with_suffix(".log.1"))
    assert numbers(events) == [2]
    append(path, line(3)[7:] + line(4))
    assert numbers(events) == [3, 4]
    append(path, line(5))
    assert numbers(events) == [5]


def test_a_log_that_cannot_be_read_has_no_events(events: Journal, path: Path) -> None:
    path.mkdir()
    assert events.read() == []
