"""Helpers for tests that play on a fleet of toy hosts."""

from __future__ import annotations

import os
import select
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from tests.faulty import game as faulty

from ludus.config.settings import FleetConfig
from ludus.fleet.fleet import TIMES_S, HostFleet
from ludus.fleet.saved_state import FleetState
from ludus.games.toy.game import command
from ludus.games.toy.options import ToyOptions
from ludus.processes.command import HostCommand
from ludus.types import Arrivals, Ending

PATIENCE_S = 60.0  # a shared, busy machine
QUICK = FleetConfig(hosts=2, matches=4, backoff_s=0.01, reply_deadline_s=30.0)


SPOILER = str(Path(__file__).parent / "spoiler.py")


def first_host_dies(*, greets: bool = True) -> HostCommand:
    """Toy hosts, of which the first dies before any of its matches ends, or before it says HELLO, at every start."""
    host = shlex.join(command(ToyOptions()).argv)
    dies = f"exec {shlex.join((sys.executable, SPOILER, 'crash', '2', '--'))} {host}" if greets else "exit 3"
    return HostCommand(("sh", "-c", f'if [ "$LUDUS_HOST" = 0 ]; then {dies}; fi; exec {host}'))


def first_host_spoiled(fault: str, marker: Path) -> HostCommand:
    """Toy hosts, of which the first breaks in a way of tests/spoiler.py, once: whoever makes the marker does."""
    host = shlex.join(command(ToyOptions()).argv)
    spoils = f"exec {shlex.join((sys.executable, SPOILER, fault, '20', '--'))} {host}"
    when = f'[ "$LUDUS_HOST" = 0 ] && mkdir {shlex.quote(str(marker))} 2>/dev/null'
    return HostCommand(("sh", "-c", f"if {when}; then {spoils}; fi; exec {host}"))


def faulty_fleet(
    log_dir: Path,
    config: FleetConfig = QUICK,
    options: Mapping[str, object] = MappingProxyType({}),
    *,
    schedule: Sequence[tuple[int, int]] | None = None,
    saved_state: FleetState | None = None,
) -> HostFleet:
    """A fleet of toy hosts that break as their options say (tests/faulty/options.py)."""
    return toy_fleet(log_dir, config, options, schedule=schedule, saved_state=saved_state, hosts=faulty.command())


def toy_fleet(
    log_dir: Path,
    config: FleetConfig = QUICK,
    options: Mapping[str, object] = MappingProxyType({}),
    *,
    seed: int = 1,
    schedule: Sequence[tuple[int, int]] | None = None,
    keep_log: bool = False,
    saved_state: FleetState | None = None,
    times_s: float | None = TIMES_S,
    hosts: HostCommand | None = None,
) -> HostFleet:
    return HostFleet(
        hosts or command(ToyOptions()),
        config,
        options=options,
        seed=seed,
        log_dir=log_dir,
        schedule=schedule,
        keep_log=keep_log,
        saved_state=saved_state,
        times_s=times_s,
    )


def first_legal(arrivals: Arrivals) -> NDArray[np.int32]:
    first: NDArray[np.intp] = arrivals.legal.argmax(axis=1)
    return first.astype(np.int32)


class Played:
    """What `play` saw, all together."""

    def __init__(self) -> None:
        self.endings: list[Ending] = []
        self.rows: list[int] = []

    @property
    def finished(self) -> list[Ending]:
        return [ending for ending in self.endings if not ending.void]

    @property
    def voided(self) -> list[Ending]:
        return [ending for ending in self.endings if ending.void]


def play(fleet: HostFleet, until: Callable[[Played], bool], patience_s: float = PATIENCE_S) -> Played:
    """First legal actions until the condition holds; fails when it does not in time."""
    played, end_s = Played(), time.monotonic() + patience_s
    while not until(played):
        assert time.monotonic() < end_s, f"waited {patience_s} s in vain; {fleet.health}"
        arrivals = fleet.recv(1.0)
        played.endings += arrivals.endings
        played.rows += arrivals.row.tolist()
        fleet.send(arrivals.row, first_legal(arrivals))
    return played


def host_of(fleet: HostFleet, row: int) -> int:
    return row // (fleet.rows // fleet.hosts)


def both_finished(fleet: HostFleet) -> Callable[[Played], bool]:
    """Every host has played a match to its end."""
    return lambda played: {host_of(fleet, int(e.rows[0])) for e in played.finished} == set(range(fleet.hosts))


def wait_until_gone(pids: Sequence[int], patience_s: float = PATIENCE_S) -> None:
    """Processes that need not be our children; a zombie counts as gone."""
    end_s = time.monotonic() + patience_s
    for pid in pids:
        assert not is_still_there(pid, max(0.0, end_s - time.monotonic())), f"process {pid} is still there"


def is_still_there(pid: int, for_s: float) -> bool:
    """Whether the process outlives that time; returns as soon as it ends."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        return not select.select([fd], [], [], for_s)[0]
    finally:
        os.close(fd)


def voided(fleet: HostFleet) -> Mapping[str, int]:
    return dict(fleet.health.voided)
