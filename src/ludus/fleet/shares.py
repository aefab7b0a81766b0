"""Decides which host plays which matches of a schedule. Pure."""

from __future__ import annotations

from collections.abc import Sequence

Scheduled = tuple[int, int]  # number and seed of a match


def dealt(schedule: Sequence[Scheduled], hosts: int) -> list[list[Scheduled]]:
    """Deal the matches to the hosts in turn and return the matches of each host. Their counts differ by at most one."""
    return [list(schedule[host::hosts]) for host in range(hosts)]


def handed_on(
    matches: Sequence[Scheduled], idle: Sequence[int], *, playing: int, at_once: int
) -> list[tuple[int, list[Scheduled]]]:
    """Distribute the unplayed matches of hosts that were given up. Returns (host, its matches) for idle hosts.

    Matches are divided evenly between the idle hosts and the `playing` ones, which will be idle later. A host takes at
    least `at_once` matches, the number that it plays at the same time, because it has to be restarted for them.
    """
    assignments, rest = [], list(matches)
    for place, host in enumerate(idle):
        count = max(at_once, -(-len(rest) // (len(idle) - place + playing)))
        share, rest = rest[:count], rest[count:]
        if share:
            assignments.append((host, share))
    return assignments
