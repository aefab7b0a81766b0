"""Forwards log messages of the actor's process to the learner's process, which shows them to the user."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ludus.actors.control import ClosedError, ControlChannel, LogMessage

LOGGER = "ludus"  # the parent of all loggers in ludus


class Forwarder(logging.Handler):
    """Sends every log message over the control channel. The actor must log only in the thread that owns the channel."""

    def __init__(self, control: ControlChannel) -> None:
        super().__init__(logging.INFO)
        self._control = control

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(ClosedError):  # the actor's loop also notices a closed channel
            self._control.send(LogMessage(record.name, record.levelno, record.getMessage()))


@contextmanager
def forwarded(control: ControlChannel) -> Iterator[None]:
    """Inside the block, send log messages over the channel and to stderr, which is the actor's log file."""
    logger, handlers = logging.getLogger(LOGGER), (Forwarder(control), logging.StreamHandler())
    logger.setLevel(logging.INFO)
    for handler in handlers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            logger.removeHandler(handler)


def show(note: LogMessage) -> None:
    """Log a forwarded message in this process."""
    logging.getLogger(note.logger).log(note.level, "%s", note.text)
