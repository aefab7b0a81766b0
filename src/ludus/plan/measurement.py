"""A measurement: the speed of one machine, with its spread, and how busy the learner was."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ludus.diagnostics.scaling import Spread
from ludus.errors import ConfigError

Unit = Literal["decisions", "matches"]


class MeasuredSpeed(Struct, frozen=True, kw_only=True):
    """Speed of one machine. Ranges are the lowest and highest of `samples` repeats or parts of a run."""

    origin: str  # the file or folder
    training: bool  # False: hosts and a policy played, and nothing was learned
    hosts: int
    cores: int
    machine: str
    samples: int
    samples_of: str  # what was repeated, such as "repeats"
    decisions_per_s: Spread
    matches_per_s: Spread | None = None  # None: matches were not counted
    learner_busy: float | None = None  # share of its time; None: there was no learner, or its time is unknown

    def per_s(self, unit: Unit) -> Spread:
        """Return the speed in decisions or matches. Raises ConfigError if matches were not counted."""
        if unit == "decisions":
            return self.decisions_per_s
        if self.matches_per_s is None:
            raise ConfigError(
                f"{self.origin} has no count of matches; plan with --decisions, or measure with a run "
                "(ludus train, then --measured RUN_FOLDER)"
            )
        return self.matches_per_s

    def learner_limit(self, unit: Unit) -> Spread | None:
        """Return the speed at which one learner would be busy all the time, or None if that is unknown."""
        if not self.learner_busy:
            return None
        return scaled(self.per_s(unit), 1 / self.learner_busy)


def scaled(spread: Spread, factor: float) -> Spread:
    return Spread(spread.median * factor, spread.low * factor, spread.high * factor)
