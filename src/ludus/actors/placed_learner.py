"""The user's side of a learner on a node of a cluster: places it, shows its output, and passes signals on."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, TimeoutError, wait
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from ludus.errors import ClusterLost, SetupError
from ludus.processes.interrupts import SIGNALS

ROOM_S = 600.0  # longest wait for a node with room
SILENCE_S = 30.0  # a node answers every second; one that has not for this long is lost
POLL_S = 1.0
TICK_S = 0.2  # time between two looks for signals
WAITING_S = 5.0  # after this time without a node, say so
STAMP = ".shared"  # a file in the run's folder by which a node shows that it has the same folder


class PlacedLearner(Protocol):
    """A `LearnerProcess` on a node."""

    def ask(self, method: str, *values: object) -> Future[Any]:
        """Call a method of it. Any: each returns something else. The future raises if the node is lost."""
        ...

    def is_final(self, error: BaseException) -> bool:
        """Return whether an error of a call means that it is lost, and not only out of reach for the moment."""
        ...

    def end(self) -> None:
        """End it and its process."""
        ...


class Unshared(SetupError):
    """The node of the learner does not have the run's folder."""


def train(learner: PlacedLearner, words: Sequence[str], folder: Path, env: dict[str, str]) -> int:
    """Run `ludus` with these words where `learner` is placed, until it ends. Returns its exit code.

    Raises Unshared if that node has no such folder, SetupError if no node has room, and ClusterLost if the node or the
    process is lost, after which the run can be continued from its last checkpoint.
    """
    with _signals() as arrived:
        try:
            where = _where(learner, arrived)
            if not _sees(learner, folder.resolve(), arrived):
                raise Unshared(f"node {where} does not have the folder {folder.resolve()} of the run")
            problem = _soon(learner.ask("start", list(words), os.getcwd(), env), arrived)
            if problem:
                raise SetupError(f"the learner cannot be started on node {where}: {problem}")
            _print(f"ludus: the learner runs on node {where}\n".encode())
            return _relayed(learner, where, arrived)
        finally:
            learner.end()


def _where(learner: PlacedLearner, arrived: list[int]) -> str:
    """Wait until Ray has placed the learner, and return the address of its node."""
    placed = learner.ask("where")
    try:
        where: str = _answer(placed, WAITING_S, arrived)
    except TimeoutError:
        _print(b"ludus: the learner waits for a node with a free GPU\n")
        try:
            where = _answer(placed, ROOM_S, arrived)
        except TimeoutError:
            raise SetupError(f"no node had a free GPU for the learner for {ROOM_S / 60:g} minutes") from None
    return where


def _sees(learner: PlacedLearner, folder: Path, arrived: list[int]) -> bool:
    """Return whether the node of the learner has this folder, too."""
    stamp = folder / f"{STAMP}-{os.getpid()}"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        stamp.touch()
        return bool(_soon(learner.ask("sees", str(stamp)), arrived))
    finally:
        stamp.unlink(missing_ok=True)


def _relayed(learner: PlacedLearner, where: str, arrived: list[int]) -> int:
    """Print the output of the process, and send it the signals that arrive, until it ends. Returns its exit code."""
    output, answered_s = learner.ask("output", POLL_S), time.monotonic()
    while True:
        while arrived:
            learner.ask("signal", arrived.pop(0))
        if not wait([output], TICK_S).done:
            if time.monotonic() > answered_s + SILENCE_S:
                raise ClusterLost(f"the learner on node {where} has not answered for {SILENCE_S:g} s")
            continue
        try:
            data, code = output.result()
        except Exception as error:  # whatever Ray raises
            if not learner.is_final(error) and time.monotonic() < answered_s + SILENCE_S:
                time.sleep(TICK_S)
                output = learner.ask("output", POLL_S)
                continue
            reason = " ".join(str(error).split())[:200]
            raise ClusterLost(f"the learner on node {where} is lost: {reason}") from error
        _print(data)
        if code is not None:
            if -code in SIGNALS:
                return 128 - int(code)  # as after a second Ctrl-C, which ends it at once
            if code < 0:
                raise ClusterLost(f"the learner on node {where} was ended by signal {-code}")
            return int(code)
        output, answered_s = learner.ask("output", POLL_S), time.monotonic()


def _soon(future: Future[Any], arrived: list[int]) -> Any:  # Any: what the method returns
    """Wait for the answer of a node that is known to be there. Raises ClusterLost if it takes too long."""
    try:
        return _answer(future, SILENCE_S, arrived)
    except TimeoutError:
        raise ClusterLost(f"the node of the learner has not answered for {SILENCE_S:g} s") from None


def _answer(future: Future[Any], timeout_s: float, arrived: list[int]) -> Any:  # Any: what the method returns
    """Wait for an answer. Raises TimeoutError, and KeyboardInterrupt if a signal arrives."""
    until_s = time.monotonic() + timeout_s
    while not future.done():
        if arrived:
            raise KeyboardInterrupt
        if time.monotonic() > until_s:
            raise TimeoutError
        wait([future], TICK_S)
    try:
        return future.result()
    except Exception as error:  # whatever Ray raises
        reason = " ".join(str(error).split())[:200]
        raise ClusterLost(f"the learner cannot be placed: {reason}") from error


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Inside the block, collect the numbers of signals that ask for the end."""
    arrived: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    heeded = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]  # nohup ignores SIGHUP
    before = {number: signal.signal(number, handle) for number in heeded}
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
