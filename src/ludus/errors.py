"""The exceptions that ludus raises on purpose. Messages are for people: programs read the type and `HostError.fault`.

LudusError
├── ConfigError
│   └── UntrustedError
├── SetupError
├── HostError
│   ├── ProtocolError
│   └── HostRefused
├── FleetError
├── CheckpointError
├── DatasetError
├── EvaluationError
├── LeagueError
├── TrainingError
│   └── ClusterLost
├── ReplayError
└── ServingError
"""

from __future__ import annotations

from enum import StrEnum


class HostFault(StrEnum):
    """A code for what a host did wrong. `hostcheck/advice.py` has the rule of docs/host-protocol.md for each."""

    CANNOT_START = "cannot-start"
    REFUSED = "refused"  # its configuration, with a reason
    HOST_ENDED = "host-ended"  # it exited, or reported an error of its own
    SILENT = "silent"  # it sent or read nothing in time
    MATCHES_LOST = "matches-lost"  # every match failed
    TEXT_ON_STDOUT = "text-on-stdout"
    FRAME_START = "frame-start"
    FRAME_HEADER = "frame-header"
    FRAME_LENGTH = "frame-length"
    FRAME_CUT = "frame-cut"
    FRAME_FLOOD = "frame-flood"
    WRONG_FRAME = "wrong-frame"  # of a kind that it may not send, or not now
    UNREADABLE = "unreadable"  # JSON of the wrong form
    BAD_HELLO = "bad-hello"
    BAD_ARRIVALS = "bad-arrivals"
    EMPTY_ARRIVALS = "empty-arrivals"
    NOT_OWED = "not-owed"  # an answer to nothing
    WRONG_OPENS = "wrong-opens"
    ASKED_TWICE = "asked-twice"
    EMPTY_MASK = "empty-mask"
    NOT_FINITE = "not-finite"
    BAD_ENDING = "bad-ending"
    NO_ENDING = "no-ending"
    BAD_TIMES = "bad-times"
    OFF_SCHEDULE = "off-schedule"
    NOT_REPEATED = "not-repeated"  # the same seed and actions gave another match
    ROWS_HELD_BACK = "rows-held-back"
    UNKNOWN_OPTION = "unknown-option"  # it accepted one, or did not name it
    DID_NOT_STOP = "did-not-stop"
    DID_NOT_FAIL = "did-not-fail"  # on input that it must refuse
    OTHER = "other"


class LudusError(Exception):
    """Base class of all errors. The console shows the message as one line; the traceback goes to the log."""


class ConfigError(LudusError):
    """A configuration, option or argument is wrong. The message names it and what would be right."""


class UntrustedError(ConfigError):
    """A file from elsewhere sets an option that only this machine may set (docs/security.md)."""


class SetupError(LudusError):
    """Something that the run needs is missing or cannot be installed."""


class HostError(LudusError):
    """A host did something wrong; `fault` is the code for it."""

    def __init__(self, message: str, fault: HostFault = HostFault.OTHER) -> None:
        super().__init__(message)
        self.fault = fault


class ProtocolError(HostError):
    """A host sent bytes that are not a valid frame, or a valid frame at the wrong time."""


class HostRefused(HostError):
    """A host refused its configuration, such as an unknown format. Restarting it cannot help.

    `reason` is the text that the host sent, which the message may introduce with the host's name.
    """

    def __init__(self, message: str, reason: str | None = None) -> None:
        super().__init__(message, HostFault.REFUSED)
        self.reason = message if reason is None else reason


class FleetError(LudusError):
    """No host is left to play on."""


class CheckpointError(LudusError):
    """A checkpoint cannot be read or written, or does not fit the game."""


class DatasetError(LudusError):
    """A dataset cannot be read or written, or does not fit the game."""


class EvaluationError(LudusError):
    """Some scheduled matches did not finish, so there is no result."""


class LeagueError(LudusError):
    """The folder of a league cannot be read or written, or a member does not fit the league."""


class TrainingError(LudusError):
    """The learner cannot continue, for example after too many skipped updates in a row."""


class ClusterLost(TrainingError):
    """No actor plays on the cluster of a run, and none can be placed there. The run may be resumed later."""


class ReplayError(LudusError):
    """A saved match ends differently when it is played again."""


class ServingError(LudusError):
    """A policy server refused a request, does not answer, or cannot be reached."""
