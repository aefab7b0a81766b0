"""Which host plays which matches of a schedule. Pure."""

from __future__ import annotations

from collections.abc import Sequence

Scheduled = tuple[int, int]  # number and seed of a match


def dealt(schedule: Sequence[Scheduled], hosts: int) -> list[list[Scheduled]]:
    """As many matches to each host, give or take one; neighbours in the schedule go to different hosts."""
    return [list(schedule[host::hosts]) for host in range(hosts)]


def handed_on(
    matches: Sequence[Scheduled], idle: Sequence[int], *, playing: int, at_once: int
) -> list[tuple[int, list[Scheduled]]]:
    """What each idle host takes of the matches that hosts which were given up have left.

    `playing` other hosts will be idle, too, so something stays for them; but nobody takes fewer than it plays
    `at_once`, as a host has to start anew for it.
    """
    assignments, rest = [], list(matches)
    for place, host in enumerate(idle):
        count = max(at_once, -(-len(rest) // (len(idle) - place + playing)))
        share, rest = rest[:count], rest[count:]
        if share:
            assignments.append((host, share))
    return assignments
