"""The exceptions that ludus raises on purpose.

LudusError
├── ConfigError
│   └── UntrustedError
├── SetupError
├── HostError
│   ├── ProtocolError
│   └── HostRefused
├── FleetError
├── CheckpointError
├── EvaluationError
├── TrainingError
└── ReplayError
"""


class LudusError(Exception):
    """Base class of all errors. The console shows the message as one line; the traceback goes to the log."""


class ConfigError(LudusError):
    """A configuration, option or argument is wrong. The message names it and what would be right."""


class UntrustedError(ConfigError):
    """A file from elsewhere sets an option that only this machine may set (docs/security.md)."""


class SetupError(LudusError):
    """Something that the run needs is missing or cannot be installed."""


class HostError(LudusError):
    """A host did something wrong."""


class ProtocolError(HostError):
    """A host sent bytes that are not a valid frame, or a valid frame at the wrong time."""


class HostRefused(HostError):
    """A host refused its configuration, such as an unknown format. Restarting it cannot help."""


class FleetError(LudusError):
    """No host is left to play on."""


class CheckpointError(LudusError):
    """A checkpoint cannot be read or written, or does not fit the game."""


class EvaluationError(LudusError):
    """Some scheduled matches did not finish, so there is no result."""


class TrainingError(LudusError):
    """The learner cannot continue, for example after too many skipped updates in a row."""


class ReplayError(LudusError):
    """A saved match ends differently when it is played again."""
