"""Texts about hosts for logs and errors. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ludus.fleet.host import Host
from ludus.limits import clipped

WORDS_CHARS = 1000  # longest description of a host in one line of the log


def described(host: Host) -> str:
    """Return `host 3 (node, pid 812)`, or `host 3` if it has no process."""
    if host.process is None:
        return f"host {host.number}"
    return f"host {host.number} ({host.process.name}, pid {host.process.pid})"


def facts(hosts: Sequence[Host]) -> list[str]:
    """Return the facts that hosts sent in HELLO, one line for all hosts with equal facts."""
    indices: dict[str, list[str]] = {}
    for host in hosts:
        words = clipped("; ".join(f"{name}: {fact}" for name, fact in host.facts.items()), WORDS_CHARS)
        if words:
            indices.setdefault(words, []).append(str(host.number))
    return [f"host{'s' if len(of) > 1 else ''} {', '.join(of)}: {words}" for words, of in indices.items()]


def none_left(hosts: Sequence[Host], last_failures: Sequence[str]) -> str:
    """Return the error message of a fleet whose hosts were all given up: the last failure of each."""
    reasons = "; ".join(
        f"host {host.number} {failure} (log: {host.log.path})"
        for host, failure in zip(hosts, last_failures, strict=True)
    )
    unplayed = sum(host.unplayed for host in hosts)
    missing = f", {unplayed} scheduled matches cannot be played" if unplayed else ""
    return f"no host is left to play on{missing}: {reasons}"
