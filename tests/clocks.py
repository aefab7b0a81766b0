"""Time that tests let pass."""

from __future__ import annotations


class Clock:
    """Nanoseconds that pass when told to."""

    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        return self.ns

    def pass_s(self, seconds: float) -> None:
        self.ns += round(seconds * 1e9)
