"""Keeps a fleet of servers until it is told to stop, one keeper a user.

    python -m ludus.games.showdown.servers.keeper '{"count": 4, "base_port": null, "memory_mib": 1024}'

Run as a program it says nothing on stdout, or, when it must give up before all servers are ready, one line: why.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import msgspec
import psutil

from ludus.errors import LudusError, SetupError
from ludus.games import cache
from ludus.games.showdown.servers import state
from ludus.games.showdown.servers.fleet import ServerFleet, ServerView
from ludus.games.showdown.servers.supervisor import Limits
from ludus.metrics.exporters.log import logging_to

LOCK_S = 1.0  # longer than a command holds it to see whether there is a keeper
STARTING_S, KEEPING_S = 0.2, 2.0  # between two states on the disk
FAILED = 2  # exit code

Watch = Callable[[tuple[ServerView, ...]], None]


class KeeperConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    count: int
    base_port: int | None = None
    memory_mib: float = Limits().memory_mib
    stock_engine: bool = False


def keep(plan: KeeperConfig, watch: Watch | None = None) -> None:
    """Run servers until SIGINT, SIGTERM or SIGHUP, then stop them. `watch` is called regularly with their state.

    Raises SetupError when there is a keeper already, else what ServerFleet raises.
    """
    state.folder().mkdir(parents=True, exist_ok=True)
    with _alone(), _told_to_stop() as stop:
        log = state.folder() / "keeper.log"
        log.unlink(missing_ok=True)
        with logging_to(log):
            fleet = ServerFleet(
                plan.count,
                base_port=plan.base_port,
                limits=Limits(memory_mib=plan.memory_mib),
                folder=state.folder(),
                stock=plan.stock_engine,
            )
            try:
                fleet.start()
                _look_after(fleet, stop, watch)
            finally:
                fleet.close()
                state.remove()


def already(keeper_state: state.KeeperState | None) -> SetupError:
    """Return the error that servers are already running."""
    who = (
        f"servers are up already (keeper pid {keeper_state.pid})"
        if keeper_state
        else "servers are being started already"
    )
    return SetupError(f"{who}: see them with `ludus servers status`, stop them with `ludus servers down`")


def main() -> int:
    plan = msgspec.json.decode(sys.argv[1], type=KeeperConfig)
    try:
        keep(plan)
    except LudusError as error:
        print(error, flush=True)
        return FAILED
    return 0


def _look_after(fleet: ServerFleet, stop: threading.Event, watch: Watch | None) -> None:
    me = psutil.Process()
    ready = False
    while True:
        fleet.check()
        views = fleet.views()
        state.write(state.KeeperState(os.getpid(), me.create_time(), views))
        if watch is not None:
            watch(views)
        if not ready:
            fleet.raise_given_up()
            ready = fleet.ready == len(views)
        if stop.wait(KEEPING_S if ready else STARTING_S):
            return


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the lock, or raise SetupError."""
    is_held = False
    try:
        with cache.exclusive(state.folder() / "keeper.lock", LOCK_S):
            is_held = True
            yield
    except SetupError:
        if is_held:
            raise
        raise already(state.read()) from None


@contextmanager
def _told_to_stop() -> Iterator[threading.Event]:
    stop = threading.Event()

    def tell(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, tell) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main())
