"""What the actor's process logs is shown where the user looks: in the learner's process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ludus.actors.control import ClosedError, ControlChannel, LogMessage

LOGGER = "ludus"  # what every module of ludus logs under


class Forwarder(logging.Handler):
    """Sends every line to the other side. The actor logs in one thread only, the one that owns the channel."""

    def __init__(self, control: ControlChannel) -> None:
        super().__init__(logging.INFO)
        self._control = control

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(ClosedError):  # the loop notices it, too
            self._control.send(LogMessage(record.name, record.levelno, record.getMessage()))


@contextmanager
def forwarded(control: ControlChannel) -> Iterator[None]:
    """Lines go to the other side, and to stderr as before: that is the actor's own log."""
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
    logging.getLogger(note.logger).log(note.level, "%s", note.text)
