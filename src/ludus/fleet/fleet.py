"""A fleet of hosts that are child processes."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from ludus.config.settings import FleetConfig
from ludus.fleet import shares
from ludus.fleet.arrivals import collected, nothing
from ludus.fleet.host import Host
from ludus.fleet.hosts import Hosts
from ludus.fleet.interface import FleetHealth, HostEvent
from ludus.fleet.saved_state import FleetState
from ludus.fleet.setup import Setup
from ludus.fleet.supervisor import HostFailed
from ludus.metrics import names
from ludus.metrics.times import HOSTS, Times
from ludus.processes.command import HostCommand
from ludus.processes.cores import cores
from ludus.types import Arrivals

TIMES_S = 0.5  # how often hosts report how they spent their time
SAVING_DEADLINES = 2  # `saved_state` waits for answers for this many reply deadlines


class HostFleet:
    """Implements `Fleet` with host processes. The constructor returns when all hosts have sent HELLO.

    Raises HostRefused with the host's message if the configuration is refused before any host could play it, and
    FleetError if a host cannot start. With `final_refusals`, HostRefused is also raised for a host that refuses after
    its HELLO. Make all calls from the thread that made the fleet: hosts die with that thread.

    Answer every row that `recv` returned before the next `recv`. Answers may be left out for rows whose match is among
    the endings by then. A row is not returned again until it is answered.

    With a `schedule`, a list of [number, seed], only these matches are played. Unplayed matches of a host that is
    given up are taken over by hosts that have finished theirs, even if that host never sent HELLO.

    With `saved_state`, which must have the same number of hosts and matches, the saved matches continue: the first
    `recv` returns the arrivals that the saved fleet would have returned next. Hosts replay their matches. A match that
    does not reach its saved state is voided with the reason `diverged`, and its host is restarted without it.

    With `events`, hosts may send events, which `take_events` returns.

    In a run with several fleets, `first_host` is the number of this fleet's first host in the run, and `run_hosts` the
    number of all hosts. Seeds, match numbers, logs and messages use the numbers of hosts in the run.
    """

    def __init__(
        self,
        command: HostCommand,
        config: FleetConfig,
        *,
        options: Mapping[str, object],
        seed: int,
        log_dir: Path,
        hosts: int | None = None,
        matches: int | None = None,
        schedule: Sequence[tuple[int, int]] | None = None,
        keep_log: bool = False,
        saved_state: FleetState | None = None,
        times_s: float | None = TIMES_S,
        final_refusals: bool = False,
        usable_cores: int | None = None,
        events: bool = False,
        first_host: int = 0,
        run_hosts: int | None = None,
    ) -> None:
        usable_cores = cores() if usable_cores is None else usable_cores
        count = hosts or config.hosts_on(usable_cores)
        if schedule is not None:
            count = max(1, min(count, len(schedule)))
        self.hosts, self.matches = count, matches or config.matches
        self._seed = seed = seed if saved_state is None else saved_state.seed
        self._scheduled = schedule is not None
        self._config = config
        run_hosts = run_hosts or count
        self._setup = Setup(
            command,
            options if command.options is None else command.options,
            seed,
            run_hosts,
            self.matches,
            self._scheduled,
            keep_log,
            log_dir,
            times_s,
            config.parts_on(usable_cores, run_hosts),
            events,
            first_host,
        )
        schedules = [None] * count if schedule is None else shares.dealt(schedule, count)
        states = [None] * count if saved_state is None else saved_state.hosts
        all_hosts = [
            Host(index, self._setup, share, state)
            for index, (share, state) in enumerate(zip(schedules, states, strict=True))
        ]
        self._hosts = Hosts(all_hosts, config, scheduled=self._scheduled, final_refusals=final_refusals)
        self._closed = False
        self._busy: tuple[float, ...] = ()
        try:
            self.spec = self._hosts.meet()
        except BaseException:
            self.close()
            raise
        self._span = self.matches * self.spec.seats  # rows of one host
        self.rows = self.hosts * self._span
        self._nothing = nothing(self.spec)

    def recv(self, timeout_s: float, *, wait_all: bool = False) -> Arrivals:
        """Return the rows and endings that are ready, or none if the time is up or the schedule is exhausted.

        With `wait_all`, nothing is ready until every host has answered all it was sent. Rows are then in the order of
        hosts, so that the same actions always give the same arrivals. Raises FleetError when no host is left.
        """
        hosts, end_s = self._hosts, time.monotonic() + timeout_s
        # if the supervisor waits for no host, nothing will arrive: check for remaining hosts without waiting
        waits = not self._ready(wait_all) and hosts.supervisor.wake_s is not None
        hosts.pump(end_s if waits else 0.0)
        while not self._ready(wait_all):
            hosts.check_any_left()
            hosts.move_matches()
            if time.monotonic() >= end_s or self._exhausted():
                return self._nothing
            hosts.pump(end_s)
        return collected(hosts.all, self._span, self._nothing)

    def send(self, row: NDArray[np.int32], action: NDArray[np.int32]) -> None:
        """Send actions for rows that `recv` returned, in any order and in any number of calls. Actions of matches that
        were voided meanwhile are dropped. Raises ValueError for rows or actions that do not exist."""
        if len(row) != len(action):
            raise ValueError(f"{len(row)} rows and {len(action)} actions")
        if not len(row):
            return
        row, action = row.astype(np.int32, copy=False), action.astype(np.int32, copy=False)
        if np.maximum.reduce(action.view(np.uint32)) >= self.spec.actions:  # unsigned: negative ones are huge
            raise ValueError(f"actions {action.min()} to {action.max()}, expected 0 to {self.spec.actions - 1}")
        hosts, span = self._hosts, self._span
        first = int(row[0]) // span
        local = row - first * span
        if 0 <= first < self.hosts and np.maximum.reduce(local.view(np.uint32)) < span:
            hosts.send(hosts.all[first], local, action)
            return
        low, high = int(row.min()), int(row.max())
        if low < 0 or high >= self.rows:
            raise ValueError(f"rows {low} to {high}, expected 0 to {self.rows - 1}")
        index = row // span
        for at in np.unique(index).tolist():
            is_here = index == at
            hosts.send(hosts.all[at], row[is_here] - at * span, action[is_here])

    def nudge(self) -> None:
        """Send hosts that owe an answer an empty ACTIONS frame, which a working host answers at once.

        Use it for matches against people, which may keep an answer open for days.
        """
        self._hosts.nudge()

    def drain(self) -> None:
        """Let the hosts finish their matches and begin no more; `health.exhausted` is True when all are over.

        Go on with `recv` and `send` meanwhile. A host that fails is not restarted. Hosts whose HELLO does not declare
        that they understand DRAIN go on as before; the log names them.
        """
        self._hosts.drain()

    def take_events(self) -> list[HostEvent]:
        """Return the events of all hosts since the last call. `recv` reads them from the hosts."""
        return [event for host in self._hosts.all for event in host.inbox.take_events()]

    def saved_state(self, within_s: float | None = None) -> FleetState:
        """Wait until the hosts have answered all actions they were sent, and return the state of all matches.

        Every row that `recv` returned must have been answered. Later calls of `recv` return the same as without this
        call. Do not use it for fleets with a schedule. A host that does not answer within `within_s` seconds (None: two
        reply deadlines) has failed: its matches are voided with the reason `hung`.
        """
        within_s = SAVING_DEADLINES * self._config.reply_deadline_s if within_s is None else within_s
        end_s = time.monotonic() + within_s
        while late := [host for host in self._hosts.all if host.answering]:
            if time.monotonic() >= end_s:
                for host in late:
                    detail = f"did not complete its answers within {within_s:g} s"
                    self._hosts.tell(HostFailed(host.index, "hung", detail))
                break
            self._hosts.pump(end_s)
        return FleetState(self._seed, tuple(host.saved_state(self.spec) for host in self._hosts.all))

    @property
    def health(self) -> FleetHealth:
        supervisor, voided = self._hosts.supervisor, self._setup.voided
        return FleetHealth(
            supervisor.alive,
            supervisor.restarts,
            supervisor.given_up,
            Counter(voided.by_reason),
            voided.unseen,
            self._exhausted(),
            tuple(sorted(self._hosts.moved)),
            self._busy,
        )

    @property
    def engine(self) -> Mapping[str, object]:
        """Facts that the hosts sent in HELLO, such as the version of their simulator."""
        return next((host.facts for host in self._hosts.all if host.session is not None), {})

    def take_times(self) -> Times:
        """Return how the hosts spent their time since the last call, as far as they have reported it."""
        times = Times()
        before = self._busy or (math.nan,) * self.hosts
        self._busy = tuple(_busy(host.inbox.times, at) for host, at in zip(self._hosts.all, before, strict=True))
        for host in self._hosts.all:
            times.add(host.inbox.times)
            host.inbox.times = Times()
        return times

    def write_logs(self) -> None:
        """Write the stderr output of the hosts to their logs. `recv` does so twenty times a second."""
        self._hosts.write_logs()

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the hosts that run."""
        return tuple(host.process.pid for host in self._hosts.all if host.process is not None)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The descriptors of the pipes from the running hosts. They are readable when `recv` has something to read."""
        return tuple(host.process.read_fd for host in self._hosts.all if host.process is not None)

    def close(self) -> None:
        """Ask the hosts to exit, and kill those that have not after a short while. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._hosts.close()

    def __enter__(self) -> HostFleet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ready(self, wait_all: bool) -> bool:
        ready = False
        for host in self._hosts.all:
            if wait_all and host.owes:
                return False
            if host.inbox.arrivals or host.inbox.endings:
                ready = True
        return ready

    def _exhausted(self) -> bool:
        if self._hosts.is_draining:
            return self._hosts.supervisor.idle
        return self._scheduled and not any(host.unplayed for host in self._hosts.all)


def _busy(times: Times, before: float) -> float:
    """Return the share of its time that a host did not wait, or `before` if it has reported no time."""
    return 1 - times.share(names.HOST_WAIT) if times.walls.get(HOSTS) else before
