"""Measures the memory of a run's processes by kind: learner, actors, hosts."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil

from ludus.processes import kinds

EVERY_S = 15.0  # looking at all processes of a machine takes some milliseconds


class RunMemory:
    """Resident memory of this process (the learner), its actors and their hosts. Shared pages count for each of them.

    With `mode: serial`, the hosts are the children of the learner.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._due_s = 0.0

    def mib(self) -> dict[str, float]:
        """Return the MiB by kind of process, at most every `EVERY_S`; otherwise {}."""
        if self._clock_s() < self._due_s:
            return {}
        self._due_s = self._clock_s() + EVERY_S
        try:
            learner = psutil.Process()
            children = learner.children()
            actors = [child for child in children if kinds.kind(_words(child)) == kinds.ACTOR]
            parents = actors or [learner]
            below = [child for parent in parents for child in parent.children(recursive=True)]
            hosts = [child for child in below if kinds.kind(_words(child)) == kinds.HOST]
        except psutil.Error:  # a process has ended meanwhile: the next look sees what is left
            return {}
        sizes = {"learner": _resident([learner]), "actors": _resident(actors), "hosts": _resident(hosts)}
        return {kind: size for kind, size in sizes.items() if size}


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _resident(processes: list[psutil.Process]) -> float:
    total = 0
    for process in processes:
        try:
            total += process.memory_info().rss
        except psutil.Error:  # it has ended
            continue
    return total / 2**20
