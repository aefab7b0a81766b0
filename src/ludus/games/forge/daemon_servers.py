"""Forge daemons as servers of a run: started on loopback ports, restarted when they die, stopped with the run."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import msgspec

from ludus.config.settings import ServersConfig
from ludus.errors import ConfigError, FleetError
from ludus.games.forge import daemon_options
from ludus.games.forge.daemon_options import DaemonOptions
from ludus.games.registry import Served, ServersHealth
from ludus.processes.launch import tied

LOOPBACK = "127.0.0.1"
READY_S = 180.0  # Forge loads some 30,000 cards before it listens
POLL_S = 0.2
PROBE_S = 0.5
STOP_S = 3.0
BACKOFF_S, BACKOFF_MAX_S = 1.0, 30.0


@contextmanager
def serve(options: DaemonOptions, servers: ServersConfig, folder: Path) -> Iterator[Served]:
    """Start daemons and yield options that name them. Raises ConfigError, or FleetError if one does not start."""
    if daemon_options.addresses(options):
        raise ConfigError(
            f"servers.count: {servers.count} daemons would be started, but options.daemons names running ones; leave "
            "one of the two out"
        )
    command, place = daemon_options.program(options), _folder(options)
    ports = _ports(int(servers.count), servers.base_port)
    folder.mkdir(parents=True, exist_ok=True)
    daemons = [Daemon(command, place, port, folder / f"daemon-{index}.log") for index, port in enumerate(ports)]
    keeper = Keeper(daemons)
    keeper.start()
    try:
        keeper.wait_until_ready()
        served_options = msgspec.structs.replace(options, daemons=tuple(f"{LOOPBACK}:{port}" for port in ports))
        yield Served(served_options, lambda: [daemon.pid for daemon in daemons if daemon.pid], keeper.health)
    finally:
        keeper.stop()


class Daemon:
    """One daemon process. Call `start`, `failure` and `stop` from one thread: the process ends with that thread."""

    def __init__(self, command: Sequence[str], folder: Path | None, port: int, log: Path) -> None:
        self.port, self.log = port, log
        self.starts = 0
        self.last_failure = ""
        self._argv = tied((*command, "daemon", "-p", str(port)))
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Return the process id; 0 while no process runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else 0

    def start(self) -> None:
        self.starts += 1
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                self._argv,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # Forge prints every game
                stderr=log,
                start_new_session=True,
            )

    def failure(self) -> str:
        """Return how the process ended; an empty text while it runs."""
        status = None if self._process is None else self._process.poll()
        return "" if status is None else f"exited with status {status}; its log is {self.log}"

    def listens(self) -> bool:
        with suppress(OSError), socket.create_connection((LOOPBACK, self.port), PROBE_S):
            return True
        return False

    def stop(self) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(STOP_S)


class Keeper(Thread):
    """Starts daemons and starts them again when they die, with a back-off that doubles."""

    def __init__(self, daemons: Sequence[Daemon]) -> None:
        super().__init__(name="forge-daemons", daemon=True)
        self._daemons = daemons
        self._stopping, self._ready = Event(), Event()
        self._error = ""

    def run(self) -> None:
        due_s = dict.fromkeys(self._daemons, 0.0)
        waiting, deadline_s = set(self._daemons), time.monotonic() + READY_S
        try:
            while not self._stopping.is_set():
                for daemon in self._daemons:
                    self._keep(daemon, due_s)
                waiting -= {daemon for daemon in waiting if daemon.listens()}
                if not waiting:
                    self._ready.set()
                elif time.monotonic() > deadline_s or any(each.starts > 2 for each in waiting):
                    daemon = min(waiting, key=lambda each: each.port)
                    self._error = daemon.last_failure or f"does not listen on port {daemon.port} after {READY_S:g} s"
                    break
                self._stopping.wait(POLL_S)
        except OSError as error:
            self._error = f"cannot be started: {error}"
        finally:
            self._ready.set()
            for daemon in self._daemons:
                daemon.stop()

    def wait_until_ready(self) -> None:
        """Wait until all daemons listen. Raises FleetError if one does not start."""
        if not self._ready.wait(READY_S + STOP_S) or self._error:
            raise FleetError(f"a Forge daemon {self._error or 'does not start'}")

    def stop(self) -> None:
        self._stopping.set()
        self.join(2 * STOP_S * len(self._daemons) + STOP_S)

    def health(self) -> ServersHealth:
        alive = sum(bool(daemon.pid) for daemon in self._daemons)
        restarts = sum(max(daemon.starts - 1, 0) for daemon in self._daemons)
        memory = [_memory_mib(daemon.pid) for daemon in self._daemons]
        return ServersHealth(len(self._daemons), alive, restarts, 0, sum(memory), max(memory, default=0.0))

    def _keep(self, daemon: Daemon, due_s: dict[Daemon, float]) -> None:
        """Start a daemon whose time has come, and note when one that died may start again."""
        if daemon.starts and (failure := daemon.failure()) and due_s[daemon] == 0.0:
            daemon.last_failure = failure
            due_s[daemon] = time.monotonic() + min(BACKOFF_S * 2.0 ** (daemon.starts - 1), BACKOFF_MAX_S)
        if not daemon.starts or (due_s[daemon] and time.monotonic() >= due_s[daemon]):
            due_s[daemon] = 0.0
            daemon.start()


def _memory_mib(pid: int) -> float:
    import psutil  # most commands start without

    try:
        return float(psutil.Process(pid).memory_info().rss / 2**20) if pid else 0.0
    except psutil.Error:
        return 0.0


def _folder(options: DaemonOptions) -> Path | None:
    folder = Path(options.folder).expanduser()
    if options.folder and not folder.is_dir():
        raise ConfigError(f"options.folder: {options.folder} is no folder")
    return folder.resolve() if options.folder else None


def _ports(count: int, base_port: int) -> list[int]:
    if base_port:
        return list(range(base_port, base_port + count))
    listeners = [socket.create_server((LOOPBACK, 0)) for _ in range(count)]
    ports = [int(listener.getsockname()[1]) for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports
