"""The error for an environment that breaks Gymnasium's or PettingZoo's API. Its match is voided; the run continues."""

from __future__ import annotations


class EnvironmentFault(Exception):
    """An environment returned something wrong. The message says what was returned and what was expected; it appears in
    the log and as the reason of the voided match."""
