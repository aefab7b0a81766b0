from __future__ import annotations

import logging
import socket

import pytest

from ludus.actors import log_relay
from ludus.actors.control import ControlChannel, LogMessage


def test_what_one_side_logs_the_other_shows(caplog: pytest.LogCaptureFixture) -> None:
    ours, theirs = (ControlChannel(end) for end in socket.socketpair())
    log = logging.getLogger("ludus.fleet")
    with log_relay.forwarded(ours):
        log.warning("host %d died", 3)
        log.debug("not this")
    log.warning("nor what comes after")
    message = theirs.receive(1.0)
    assert message == LogMessage("ludus.fleet", logging.WARNING, "host 3 died")
    assert theirs.receive(0) is None
    caplog.clear()
    log_relay.show(message)
    assert [(record.name, record.getMessage()) for record in caplog.records] == [("ludus.fleet", "host 3 died")]
    ours.close()
    theirs.close()


def test_a_channel_that_is_gone_does_not_keep_anybody_from_logging() -> None:
    ours, theirs = (ControlChannel(end) for end in socket.socketpair())
    theirs.close()
    with log_relay.forwarded(ours):
        logging.getLogger("ludus.fleet").warning("nobody hears this")
    ours.close()
