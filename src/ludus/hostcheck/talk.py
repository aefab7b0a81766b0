"""A conversation with one host process, in the role of the fleet, with a deadline for every wait."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import IO

import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.errors import HostFault, HostRefused, ProtocolError
from ludus.limits import clipped
from ludus.processes.command import HostCommand
from ludus.processes.launch import CANNOT_START, tied
from ludus.processes.stderr import StderrPipe
from ludus.spec import GameSpec
from ludus.wire.bodies import ArrivalsBody, Configure, EndingHead, ErrorBody, Resumption, TimesBody
from ludus.wire.facts import FactNames
from ludus.wire.frames import (
    UNREADABLE,
    FrameKind,
    decode_error,
    decode_hello,
    decode_times,
    encode_actions,
    encode_configure,
)
from ludus.wire.ledger import Ledger
from ludus.wire.seeds import match_seed
from ludus.wire.stream import FrameReader

READ_BYTES = 1 << 20
REAP_S = 5.0
STDERR_S = 0.05  # how often stderr is read while something else is waited for
LOST_IN_A_ROW = 4  # matches per slot that a host may lose in a row before a fleet stops it


class Talk:
    """Starts a host and waits for its HELLO. Limits: `deadline_s` for one frame, four times that for everything."""

    def __init__(self, command: HostCommand, configure: Configure, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._reader = FrameReader()
        self._broken: ProtocolError | None = None
        self._waiting: dict[int, tuple[int, NDArray[np.uint8]]] = {}  # row -> match number, packed mask
        self._choices: dict[tuple[int, int], int] = defaultdict(int)  # (number, seat) -> decisions
        self._configure = configure
        self._lost_in_a_row = 0
        self.record: dict[int, list[bytes]] = defaultdict(list)  # match number -> all its rows and its ending, in order
        self.endings: list[EndingHead] = []
        self.lost_matches: list[int | None] = []
        self.times: list[TimesBody] = []
        self.early_rows = 0  # that came before the frame which completed an answer
        self.decisions = 0
        self.began_s = time.monotonic()
        self._until_s = self.began_s + 4 * deadline_s
        self._facts = FactNames()
        self._stderr = StderrPipe()
        try:
            self._process = _start(command, self._stderr.write_fd)
        except BaseException:
            self._stderr.close()
            raise
        self._stderr.handed_over()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdin.fileno(), False)
        try:
            self.write(encode_configure(configure))
            self.spec = self._hello()
            self.greeted_s = time.monotonic() - self.began_s
            self._ledger = Ledger(self.spec, configure.matches, configure.schedule, configure.resume)
        except BaseException:
            self.close()
            raise

    def play(self, decisions: int | None, at_once: int | None = None, within_s: float | None = None) -> None:
        """Answer rows until there were this many decisions (None: until no row waits), or until the time is up.

        An ACTIONS frame has at most `at_once` rows; None: all rows that wait.
        """
        end_s = self._until_s if within_s is None else time.monotonic() + within_s
        while True:
            self.settle()
            enough = decisions is not None and self.decisions >= decisions
            if not self._waiting or enough or time.monotonic() >= end_s:
                return
            self.answer(sorted(self._waiting)[:at_once])

    def answer(self, rows: list[int]) -> None:
        """Send legal actions for these rows. Call `settle` to wait for the answer."""
        row = np.array(rows, np.int32)
        action = np.array([self._choose(each) for each in rows], np.int32)
        self._ledger.actions(row.astype(np.intp))
        self.decisions += len(rows)
        self.write(encode_actions(row, action))

    def waiting(self) -> list[int]:
        """Return the rows that wait for an action."""
        return sorted(self._waiting)

    def where(self) -> Resumption:
        """Return the matches from which another process could continue. Call when the host owes no answer."""
        running = dict(self._ledger.running())
        return Resumption([running.get(slot) for slot in range(self._configure.matches)], self._ledger.following)

    def settle(self) -> None:
        """Wait until the host owes no answer."""
        while self._ledger.answers_due:
            self._take(*self._frame())

    def silent(self, seconds: float) -> str:
        """Wait this long. Returns an empty string if the host sends nothing, else what it sent."""
        for kind, _ in self._reader:
            return kind.name
        if not self._ready(time.monotonic() + seconds):
            return ""
        data = os.read(self._stdout.fileno(), READ_BYTES)
        return f"{len(data)} bytes" if data else ""

    def write(self, data: bytes) -> None:
        rest, end_s = memoryview(data), time.monotonic() + self._deadline_s
        while rest:
            if not self._ready(end_s, self._stdin):
                raise ProtocolError(f"it read nothing from its stdin for {self._deadline_s:g} s", HostFault.SILENT)
            try:
                rest = rest[os.write(self._stdin.fileno(), rest) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._departed() from None

    def close_stdin(self) -> None:
        self._stdin.close()

    def leave(self) -> int:
        """Wait for the host to exit and return its exit status. Its remaining output is discarded."""
        end_s = time.monotonic() + self._deadline_s
        while time.monotonic() < end_s:
            status = self._process.poll()
            if status is not None:
                return status
            if self._ready(time.monotonic() + 0.01) and not os.read(self._stdout.fileno(), READ_BYTES):
                return self._wait(end_s)
        raise ProtocolError(f"it was still running after {self._deadline_s:g} s", HostFault.DID_NOT_STOP)

    def close(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(REAP_S)
        self._stdin.close()
        self._stdout.close()
        self._stderr.close()

    def __enter__(self) -> Talk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _hello(self) -> GameSpec:
        kind, body = self._frame()
        if kind is FrameKind.ERROR:
            self._refused(decode_error(body))
        if kind is not FrameKind.HELLO:
            raise ProtocolError(f"its first frame is {kind.name}, expected HELLO", HostFault.BAD_HELLO)
        with _readable(kind):
            return decode_hello(body).spec()

    def _refused(self, error: ErrorBody) -> None:
        message = clipped(error.message, limits.MESSAGE_CHARS)
        if error.kind == "configuration":
            raise HostRefused(message)
        raise ProtocolError(f"it reported an error: {message}", HostFault.HOST_ENDED)

    def _take(self, kind: FrameKind, body: memoryview) -> None:
        with _readable(kind):
            self._dispatch(kind, body)

    def _dispatch(self, kind: FrameKind, body: memoryview) -> None:
        if kind is FrameKind.ARRIVALS:
            self._arrived(self._ledger.arrivals(body))
        elif kind is FrameKind.ENDING:
            head, final_obs, lapsed = self._ledger.ending(body)
            self._facts.admit(0, head.facts, self.spec.seats)
            self.endings.append(head)
            self._lost_in_a_row = 0
            self.record[head.number].append(repr((head.score, head.reward, head.truncated, head.seed)).encode())
            if final_obs is not None:
                self.record[head.number].append(final_obs.tobytes())
            self._forget(lapsed)
        elif kind is FrameKind.TIMES and self._configure.times_s is not None:
            self.times.append(decode_times(body))
        elif kind is FrameKind.ERROR and (error := decode_error(body)).kind == "match":
            _, number, lapsed = self._ledger.lose(error)
            self._forget(lapsed)
            self.lost_matches.append(number)
            self._lost_in_a_row += 1
            if self._lost_in_a_row > LOST_IN_A_ROW * self._configure.matches:
                raise ProtocolError(
                    f"it lost {self._lost_in_a_row} matches in a row, the last: {clipped(error.message)}",
                    HostFault.MATCHES_LOST,
                )
        elif kind is FrameKind.ERROR:
            self._refused(decode_error(body))
        else:
            raise ProtocolError(f"it sent {kind.name}, expected ARRIVALS, ENDING or ERROR", HostFault.WRONG_FRAME)

    def _forget(self, rows: list[int]) -> None:
        for row in rows:
            self._waiting.pop(row, None)

    def _arrived(self, arrivals: ArrivalsBody) -> None:
        self.early_rows += 0 if arrivals.done else len(arrivals.row)
        for index, row in enumerate(arrivals.row.tolist()):
            number, seat = int(arrivals.match[index]), row % self.spec.seats
            parts = (
                bytes([seat % 256]),
                arrivals.reward[index].tobytes(),
                arrivals.legal[index].tobytes(),
                arrivals.obs[index].tobytes(),
            )
            self.record[number].append(b"".join(parts))
            self._waiting[row] = number, arrivals.legal[index]

    def _choose(self, row: int) -> int:
        """Return a legal action that depends only on match, seat and number of the decision, not on arrival order."""
        number, mask = self._waiting.pop(row)
        seat = row % self.spec.seats
        self._choices[number, seat] += 1
        legal = np.flatnonzero(self._legal(mask))
        draw = match_seed(match_seed(match_seed(self._configure.seed, number), seat), self._choices[number, seat])
        return int(legal[draw % len(legal)])

    def _legal(self, mask: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return np.unpackbits(mask, count=self.spec.actions, bitorder="little").astype(np.bool_)

    def _frame(self) -> tuple[FrameKind, memoryview]:
        now_s = time.monotonic()
        end_s = min(now_s + self._deadline_s, self._until_s)
        if now_s >= self._until_s:
            raise ProtocolError(f"it did not complete its answers within {4 * self._deadline_s:g} s", HostFault.SILENT)
        while True:
            for frame in self._reader:
                return frame
            if self._broken is not None:
                raise self._broken
            if not self._ready(end_s):
                if self._reader.partial:
                    message = f"it sent nothing more, within a frame, for {self._deadline_s:g} s"
                    raise ProtocolError(message, HostFault.FRAME_CUT)
                raise ProtocolError(f"it sent nothing for {self._deadline_s:g} s", HostFault.SILENT)
            data = os.read(self._stdout.fileno(), READ_BYTES)
            if not data:
                self._reader.close()
                raise self._departed()
            try:
                self._reader.feed(data)
            except ProtocolError as error:  # raised later: the frames before it are complete
                self._broken = error

    def _departed(self) -> ProtocolError:
        status = self.leave()
        fate = f"ended with status {status}" if status >= 0 else f"was ended by {signal.Signals(-status).name}"
        fault = HostFault.CANNOT_START if status == CANNOT_START else HostFault.HOST_ENDED
        return ProtocolError(f"it {fate}; the last lines of its stderr: {self._last_words()}", fault)

    def _last_words(self) -> str:
        self._stderr.read()
        return self._stderr.last_line or "none"

    def _ready(self, end_s: float, writer: IO[bytes] | None = None) -> bool:
        """Wait until stdout can be read, or the `writer` accepts bytes. Returns False if the time is up.

        Reads stderr in the meantime, since a full pipe would block the host.
        """
        readers, writers = ([self._stdout], []) if writer is None else ([], [writer])
        while True:
            wait_s = max(0.0, min(end_s - time.monotonic(), STDERR_S))
            readable, writable, _ = select.select(readers, writers, [], wait_s)
            self._stderr.read()
            if readable or writable or time.monotonic() >= end_s:
                return bool(readable or writable)

    def _wait(self, end_s: float) -> int:
        """Return the exit status of a host that has closed its stdout."""
        while time.monotonic() < end_s:
            self._stderr.read()
            with suppress(subprocess.TimeoutExpired):
                return self._process.wait(min(STDERR_S, max(0.0, end_s - time.monotonic())))
        raise ProtocolError(f"it was still running after {self._deadline_s:g} s", HostFault.DID_NOT_STOP)


@contextmanager
def _readable(kind: FrameKind) -> Iterator[None]:
    """Turn unexpected exceptions about a frame into ProtocolError, so that the check goes on."""
    try:
        yield
    except UNREADABLE as error:
        raise ProtocolError(
            f"{kind.name} could not be read ({type(error).__name__}: {clipped(error)})", HostFault.UNREADABLE
        ) from error


def _start(command: HostCommand, stderr: int) -> subprocess.Popen[bytes]:
    env: Mapping[str, str] = {**os.environ, **command.env, "LUDUS_HOST": "0"}
    return subprocess.Popen(
        tied(command.argv),
        env=env,
        cwd=command.cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        bufsize=0,
        start_new_session=True,
    )
