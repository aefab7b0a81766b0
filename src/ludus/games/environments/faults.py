"""What an environment does that it should not. It costs the match that was played, not the run."""

from __future__ import annotations


class EnvironmentFault(Exception):
    """Says what came and what was expected, for the log and the reason of the voided match."""
