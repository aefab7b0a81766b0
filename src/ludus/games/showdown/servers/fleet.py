"""Several servers, kept alive by a thread: probed, restarted with a back-off, recycled when they have grown.

with ServerFleet(2) as fleet:
    fleet.addresses()  # ['ws://127.0.0.1:8000/showdown/websocket', ...]
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from ludus.errors import FleetError
from ludus.games.showdown import install
from ludus.games.showdown.install import Installation
from ludus.games.showdown.servers import overlay, ports, probe
from ludus.games.showdown.servers.server import ShowdownServer, address
from ludus.games.showdown.servers.supervisor import (
    Drain,
    Event,
    Exited,
    Instruction,
    Leave,
    Limits,
    ServerAnswered,
    ServerFailed,
    ServerPhase,
    ServerSupervisor,
    ServerTick,
    StartServer,
    Stayed,
    StopServer,
)

TICK_S = 0.1
PROBE_S = 1.0  # between two questions to a server that is ready
LEAVE_S = 5.0  # for all servers together, before they are killed

logger = logging.getLogger("ludus.servers")


class ServerView(msgspec.Struct, frozen=True):
    """State of one server."""

    address: str
    state: str  # a ServerPhase, in words
    pid: int | None
    since: float | None  # when it became ready, in seconds since 1970
    restarts: int  # after failures
    recycled: int
    memory_mib: float
    battles: int | None
    log: str
    last_failure: str = ""


class ServerFleet:
    """`with` returns when all are ready, or raises ConfigError (ports), SetupError (install) or FleetError.

    A server keeps its port from when it was first ready. Leaving stops all; when this process dies, they die with it.
    """

    def __init__(
        self,
        count: int,
        *,
        base_port: int | None = None,
        limits: Limits | None = None,
        folder: Path | None = None,
        installation: Installation | None = None,
        warm: bool = True,
        stock: bool = False,
    ) -> None:
        """`base_port`: ports from there on, in a row; None: free ones.

        `folder`: its `logs` stay, its `run` is made anew, so nobody else may use it; None: one that is thrown away.
        `warm`: a server counts as ready once it has loaded everything; else the first to connect waits for that.
        `stock`: the package as it was published, without what makes battles cheaper (docs/games/showdown-servers.md).
        """
        self._limits = limits or Limits()
        self._ports = ports.choose(count, base_port)
        self._settled = [base_port is not None] * count  # whether a server must keep its port
        self._installation = installation
        self._folder = folder
        self._warm = warm
        self._stock = stock
        self._supervisor = ServerSupervisor(self._limits, count)
        self._servers: list[ShowdownServer | None] = [None] * count
        self._roots: list[Path] = []
        self._logs: list[Path] = []
        self._watchers: list[asyncio.Task[None] | None] = [None] * count
        self._answers: list[tuple[float, int | None]] = [(0.0, None)] * count
        self._since: list[float | None] = [None] * count
        self._views: tuple[ServerView, ...] = ()
        self._published = threading.Condition()
        self._closing = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="ludus-servers", daemon=True)
        self._clear: Callable[[], None] = lambda: None

    def __enter__(self) -> Self:
        try:
            self.start()
            self.wait_until_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the servers in the background, without waiting for them."""
        installation = self._installation or install.ensure()
        self._installation = installation
        folder = self._folder or Path(tempfile.mkdtemp(prefix="ludus-servers-"))
        run = folder / "run"
        shutil.rmtree(run, ignore_errors=True)  # what a killed one left
        self._clear = partial(shutil.rmtree, run if self._folder else folder, ignore_errors=True)
        for i in range(len(self._ports)):
            (run / str(i)).mkdir(parents=True)
            self._roots.append(overlay.lay(installation.root, run / str(i), stock=self._stock))
            self._logs.append(folder / "logs" / f"showdown-{i}.log")
            self._logs[-1].unlink(missing_ok=True)
        self._publish()
        self._thread.start()

    def wait_until_ready(self) -> None:
        """Wait until all servers are ready. Raises FleetError if one failed too often."""
        while True:
            self.check()
            self.raise_given_up()
            with self._published:
                if self.ready == len(self._ports):
                    return
                self._published.wait(1.0)

    @property
    def ready(self) -> int:
        """Return the number of servers that accept connections and battles."""
        return sum(view.state == ServerPhase.READY.value for view in self._views)

    def raise_given_up(self) -> None:
        """Raise FleetError if a server failed too often and is no longer restarted."""
        for view in self._views:
            if view.state == ServerPhase.GIVEN_UP.value:
                raise FleetError(f"the server at {view.address} was given up: it {view.last_failure} ({view.log})")

    def check(self) -> None:
        """Raise FleetError if the thread that supervises the servers has ended."""
        if self._error is not None:
            raise FleetError(f"the servers were stopped: {self._error}") from self._error
        if self._closing.is_set():
            raise FleetError("the servers were stopped")

    def addresses(self) -> list[str]:
        return [address(port) for port in self._ports]

    def views(self) -> tuple[ServerView, ...]:
        """Return the latest state of all servers."""
        return self._views

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()
        self._clear()

    def _run(self) -> None:
        try:
            asyncio.run(self._keep())
        except BaseException as error:  # told to whoever asks next: `check`
            logger.exception("the servers are no longer looked after")
            self._error = error
        finally:
            self._stop_all()
            self._publish()

    async def _keep(self) -> None:
        async with asyncio.TaskGroup() as tasks:  # a mistake in a watcher ends all, rather than one server's probes
            while not self._closing.is_set():
                for i, server in enumerate(self._servers):
                    if server is not None and (fate := server.exited()):
                        self._feed(Exited(i, fate), tasks)
                self._feed(ServerTick(), tasks)
                self._publish()
                await asyncio.sleep(TICK_S)
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

    def _feed(self, event: Event, tasks: asyncio.TaskGroup) -> None:
        for instruction in self._supervisor.on(event, time.monotonic()):
            self._carry_out(instruction, tasks)

    def _carry_out(self, instruction: Instruction, tasks: asyncio.TaskGroup) -> None:
        i = instruction.server
        match instruction:
            case StartServer():
                self._start(i, tasks)
            case StopServer():
                self._stop(i)
                self._log_stop(instruction)
            case Drain():
                logger.info("%s is past %.0f MiB: no new battles", self._name(i), self._limits.memory_mib)
                tasks.create_task(self._drain(i))
            case Leave():
                logger.info("%s is past %.0f MiB and idle: recycling it", self._name(i), self._limits.memory_mib)
                tasks.create_task(self._leave(i, tasks))

    def _start(self, i: int, tasks: asyncio.TaskGroup) -> None:
        assert self._installation is not None
        if not ports.is_free(self._ports[i]):
            if self._settled[i]:
                self._feed(ServerFailed(i, f"found port {self._ports[i]} in use by another program"), tasks)
                return
            self._ports[i] = ports.another(self._ports)  # somebody came between the choice and the start
        port = self._ports[i]
        try:
            server = ShowdownServer(self._installation, self._roots[i], port, self._logs[i], warm=self._warm)
        except OSError as error:
            self._feed(ServerFailed(i, f"could not be started: {error}"), tasks)
            return
        self._servers[i] = server
        self._watchers[i] = tasks.create_task(self._watch(i, server, tasks))
        logger.info("%s starts, pid %d", self._name(i), server.pid)

    def _stop(self, i: int) -> None:
        server, watcher = self._servers[i], self._watchers[i]
        self._servers[i], self._watchers[i] = None, None
        self._since[i], self._answers[i] = None, (0.0, None)
        if watcher is not None:
            watcher.cancel()
        if server is not None:
            server.reap()

    def _log_stop(self, stop: StopServer) -> None:
        if stop.again_in_s is None:
            logger.error("%s %s; given up", self._name(stop.server), stop.detail)
        elif stop.again_in_s:
            logger.warning("%s %s; again in %.1f s", self._name(stop.server), stop.detail, stop.again_in_s)

    async def _watch(self, i: int, server: ShowdownServer, tasks: asyncio.TaskGroup) -> None:
        while True:
            try:
                answer = await asyncio.wait_for(probe.ask(server.port, server.token), self._limits.answer_deadline_s)
            except probe.StrangerError as stranger:
                self._feed(ServerFailed(i, f"found another program answering on port {server.port}: {stranger}"), tasks)
                return
            except OSError:  # not there yet, or no longer; a TimeoutError too
                await asyncio.sleep(TICK_S)
                continue
            if self._since[i] is None:
                self._since[i], self._settled[i] = time.time(), True
                logger.info("%s is ready", self._name(i))
            self._answers[i] = (server.memory_mib(), answer.battles)
            self._feed(ServerAnswered(i, *self._answers[i]), tasks)
            await asyncio.sleep(PROBE_S)

    async def _drain(self, i: int) -> None:
        await self._say(i, "drain")

    async def _leave(self, i: int, tasks: asyncio.TaskGroup) -> None:
        answer = await self._say(i, "leave")
        if answer is not None and not answer.has_left:
            self._feed(Stayed(i), tasks)

    async def _say(self, i: int, page: probe.Page) -> probe.Answer | None:
        server = self._servers[i]
        if server is None:
            return None
        with suppress(OSError, probe.StrangerError):  # the watcher and the supervisor's deadlines find out
            return await asyncio.wait_for(probe.ask(server.port, server.token, page), self._limits.leave_deadline_s)
        return None

    def _stop_all(self) -> None:
        running = [server for server in self._servers if server is not None]
        for server in running:
            server.terminate()
        until = time.monotonic() + LEAVE_S
        for server in running:
            server.reap(max(0.0, until - time.monotonic()))
        self._servers = [None] * len(self._servers)

    def _name(self, i: int) -> str:
        return f"server {i} (port {self._ports[i]})"

    def _publish(self) -> None:
        with self._published:
            self._views = tuple(self._view(i) for i in range(len(self._ports)))
            self._published.notify_all()

    def _view(self, i: int) -> ServerView:
        server = self._servers[i]
        memory_mib, battles = self._answers[i]
        return ServerView(
            address=address(self._ports[i]),
            state=self._supervisor.phase(i).value,
            pid=None if server is None else server.pid,
            since=self._since[i],
            restarts=self._supervisor.restarts(i),
            recycled=self._supervisor.recycled(i),
            memory_mib=round(memory_mib, 1),
            battles=battles,
            log=str(self._logs[i]),
            last_failure=self._supervisor.last_failure(i),
        )
