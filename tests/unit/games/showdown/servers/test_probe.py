from __future__ import annotations

import asyncio

import pytest

from ludus.games.showdown.servers import ports, probe
from ludus.games.showdown.servers.probe import Answer, StrangerError, understood


def test_an_answer_is_understood() -> None:
    assert understood(b'HTTP/1.1 200 OK\r\nx: y\r\n\r\n{"pid": 7, "battles": 3}') == Answer(battles=3)
    assert understood(b'HTTP/1.1 200 OK\r\n\r\n{"pid": 7, "battles": null}') == Answer(battles=None)
    assert understood(b'HTTP/1.1 200 OK\r\n\r\n{"left": true}').has_left


@pytest.mark.parametrize(
    "said", [b"HTTP/1.1 404 Not Found\r\n\r\n", b"SSH-2.0-OpenSSH", b"HTTP/1.1 200 OK\r\n\r\n<html>"]
)
def test_another_program_is_recognised(said: bytes) -> None:
    with pytest.raises(StrangerError):
        understood(said)


def test_a_broken_connection_is_no_stranger() -> None:
    with pytest.raises(ConnectionResetError):
        understood(b"")


def test_nobody_listening_is_an_error_of_the_system() -> None:
    with pytest.raises(ConnectionRefusedError):
        asyncio.run(probe.ask(ports.another([]), "token"))
