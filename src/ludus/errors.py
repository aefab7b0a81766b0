"""Everything ludus raises on purpose.

LudusError
├── ConfigError          a configuration, option or argument is wrong; the message says where and what would be right
│   └── UntrustedError   a file from elsewhere sets an option that only this machine may set (games/trust.py)
├── SetupError           something the run needs is missing or cannot be installed
├── HostError            a host did something wrong
│   ├── ProtocolError    it sent bytes that are no valid frame, or a valid frame at the wrong time
│   └── HostRefused      it refused its configuration (unknown format, bad team): restarting cannot help
├── FleetError           no host is left to play on
├── CheckpointError      a checkpoint cannot be read, written, or does not fit this game
├── EvaluationError      the scheduled matches did not all end, so there is no result
├── TrainingError        the learner cannot go on (too many skipped updates in a row)
└── ReplayError          a saved match does not end as it did when it was played
"""


class LudusError(Exception):
    """The console shows its message as one line; the traceback goes to the log."""


class ConfigError(LudusError):
    pass


class UntrustedError(ConfigError):
    pass


class SetupError(LudusError):
    pass


class HostError(LudusError):
    pass


class ProtocolError(HostError):
    pass


class HostRefused(HostError):
    pass


class FleetError(LudusError):
    pass


class CheckpointError(LudusError):
    pass


class EvaluationError(LudusError):
    pass


class TrainingError(LudusError):
    pass


class ReplayError(LudusError):
    pass
