"""What a fleet says of its hosts, in logs and errors. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ludus.fleet.host import Host
from ludus.limits import clipped

WORDS_CHARS = 1000  # of a host, in one line of a log


def described(host: Host) -> str:
    if host.process is None:
        return f"host {host.index}"
    return f"host {host.index} ({host.process.name}, pid {host.process.pid})"


def facts(hosts: Sequence[Host]) -> list[str]:
    """One line for all hosts that say the same of themselves."""
    indices: dict[str, list[str]] = {}
    for host in hosts:
        words = clipped("; ".join(f"{name}: {fact}" for name, fact in host.facts.items()), WORDS_CHARS)
        if words:
            indices.setdefault(words, []).append(str(host.index))
    return [f"host{'s' if len(of) > 1 else ''} {', '.join(of)}: {words}" for words, of in indices.items()]


def none_left(hosts: Sequence[Host], last_failures: Sequence[str]) -> str:
    """Why a fleet cannot go on: what happened to each of its hosts."""
    reasons = "; ".join(
        f"host {host.index} {failure} (log: {host.log.path})"
        for host, failure in zip(hosts, last_failures, strict=True)
    )
    unplayed = sum(host.unplayed for host in hosts)
    missing = f", {unplayed} scheduled matches cannot be played" if unplayed else ""
    return f"no host is left to play on{missing}: {reasons}"
