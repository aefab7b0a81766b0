"""Tells the kinds of processes of a run apart, by their command lines."""

from __future__ import annotations

from collections.abc import Sequence

ACTOR, HOST = "actor", "host"
# parts of command lines; a process that has none of them is a host
PARTS = {
    ACTOR: ("ludus.actors.child",),
    "page": ("ludus.watch",),
    "profiler": ("py-spy", "jcmd"),
    "helper": ("resource_tracker", "forkserver"),
}


def kind(words: Sequence[str]) -> str:
    """Return the kind of a process other than the learner: actor, host, page, profiler or helper."""
    return next((name for name, parts in PARTS.items() if any(part in word for word in words for part in parts)), HOST)
