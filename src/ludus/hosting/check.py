"""Does a host keep the protocol? Drives any program with legal actions and says what it found.

python -m ludus.hosting.check [--options JSON] -- PROGRAM ARGUMENT...
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import HostError, HostRefused, ProtocolError
from ludus.hosting.command import HostCommand
from ludus.spec import GameSpec
from ludus.wire.frames import (
    ArrivalsBody,
    Configure,
    EndingHead,
    ErrorBody,
    FrameReader,
    Kind,
    Resumption,
    TimesBody,
    decode_error,
    decode_hello,
    decode_times,
    encode_actions,
    encode_configure,
    encode_stop,
)
from ludus.wire.ledger import Ledger
from ludus.wire.seeds import derive

READ_BYTES = 1 << 20
TIMES_S = 0.1
SUM_WITHIN = 0.01  # of the whole: hosts that measure in coarse steps round
UNKNOWN_OPTION = "no_host_has_an_option_of_this_name"


@dataclass(frozen=True, slots=True)
class Finding:
    rule: str  # as a sentence
    trouble: str  # empty: the host keeps the rule

    @property
    def kept(self) -> bool:
        return not self.trouble


@dataclass(frozen=True, slots=True)
class Report:
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return all(finding.kept for finding in self.findings)

    def __str__(self) -> str:
        return "\n".join(
            f"{'ok  ' if finding.kept else 'BAD '} {finding.rule}{'' if finding.kept else ': ' + finding.trouble}"
            for finding in self.findings
        )


def check(
    command: HostCommand,
    options: Mapping[str, Any] | None = None,  # Any: the game's own
    *,
    matches: int = 4,
    decisions: int = 400,
    seed: int = 1,
    deadline_s: float = 30.0,
) -> Report:
    """Play about `decisions` decisions in each of several ways. Starts and ends a process for each rule."""
    trial = _Trial(command, dict(options or {}), matches, decisions, seed, deadline_s)
    rules: list[tuple[str, Callable[[], str]]] = [
        ("It says HELLO, plays and keeps the protocol", trial.plays),
        ("It goes on with matches whose actions are there while others wait", trial.plays_in_parts),
        ("Same seed and same actions give the same match", trial.repeats),
        ("It plays exactly its schedule and then waits", trial.keeps_its_schedule),
        ("It goes on with matches that another process of it began", trial.resumes),
        ("It says where its time went when asked to, and its stages sum to the whole", trial.tells_times),
        ("It refuses an option it does not know, and says so", trial.refuses_unknown_options),
        ("It refuses bytes that are no frame", trial.refuses_garbage),
        ("It refuses an action for a row that was not asked", trial.refuses_unasked_rows),
        ("It exits with status 0 when told to stop", trial.stops_when_told),
        ("It exits with status 0 when its stdin ends", trial.stops_with_its_stdin),
    ]
    return Report(tuple(Finding(rule, _tried(attempt)) for rule, attempt in rules))


def _tried(attempt: Callable[[], str]) -> str:
    try:
        return attempt()
    except HostError as error:
        return str(error)


@dataclass(frozen=True, slots=True)
class _Trial:
    """One method for each rule: empty when it is kept, else what was seen."""

    command: HostCommand
    options: dict[str, Any]  # Any: the game's own
    matches: int
    decisions: int
    seed: int
    deadline_s: float

    def plays(self) -> str:
        with self._talk() as talk:
            talk.play(self.decisions)
            if not talk.endings:
                return f"no match ended within {self.decisions} decisions"
            other = [head for head in talk.endings if head.seed != derive(self.seed, head.number)]
            return f"match {other[0].number} has seed {other[0].seed}, not the derived one" if other else ""

    def plays_in_parts(self) -> str:
        with self._talk() as talk:
            talk.play(self.decisions, at_once=max(1, self.matches // 2))
        return ""

    def repeats(self) -> str:
        records = []
        for at_once in (None, 1):  # in another order of answers, too
            with self._talk() as talk:
                talk.play(self.decisions, at_once=at_once)
                records.append(talk.record)
        for number in sorted(records[0].keys() & records[1].keys()):
            shorter = min(len(record[number]) for record in records)
            if records[0][number][:shorter] != records[1][number][:shorter]:
                return f"match {number} went another way the second time"
        return ""

    def keeps_its_schedule(self) -> str:
        schedule = [(7 * i + 3, derive(self.seed, i)) for i in range(self.matches + 2)]
        with self._talk(schedule=schedule) as talk:
            talk.play(None)
            played = [(head.number, head.seed) for head in talk.endings] + [(number, 0) for number in talk.lost]
            missing = {number for number, _ in schedule} - {number for number, _ in played}
            return f"matches {sorted(missing)} of the schedule were not played" if missing else ""

    def resumes(self) -> str:
        with self._talk() as first:
            first.play(self.decisions // 2)
            resume = first.where()
        with self._talk(resume=resume) as second:
            second.play(self.decisions)
        for number in resume.open:
            before, after = first.record[number or 0], second.record[number or 0]
            shorter = min(len(before), len(after))
            if not shorter or before[:shorter] != after[:shorter]:
                return f"match {number} went another way in the second process"
        return ""

    def tells_times(self) -> str:
        """A host need not: one that never does keeps the rule."""
        with self._talk(times_s=TIMES_S) as talk:
            began_s = time.monotonic()
            while time.monotonic() - began_s < 4 * TIMES_S:
                talk.play(talk.decisions + 1)
            told = talk.times
            spent_s, alive_s = time.monotonic() - began_s, time.monotonic() - talk.began_s
        for times in told:
            total_ns = sum(found.total_ns for found in times.stages.values())
            if abs(total_ns - times.wall_ns) > SUM_WITHIN * times.wall_ns:
                return f"its stages sum to {total_ns / 1e6:.2f} ms of {times.wall_ns / 1e6:.2f} ms"
            for stage, found in times.stages.items():
                if sum(found.buckets.values()) != found.passes:
                    return f"{stage} has {found.passes:g} passes and {sum(found.buckets.values()):g} in its buckets"
        if sum(times.wall_ns for times in told) / 1e9 > alive_s:
            return "it told of more time than has passed"
        often = spent_s / TIMES_S + 1
        return f"it told {len(told)} times, asked for were {often:.0f} at most" if len(told) > often else ""

    def refuses_unknown_options(self) -> str:
        try:
            with self._talk({**self.options, UNKNOWN_OPTION: 1}):
                return "it took an unknown option"
        except HostRefused as refusal:
            return "" if UNKNOWN_OPTION in str(refusal) else f"its words do not name the option: {refusal}"

    def refuses_garbage(self) -> str:
        with self._talk() as talk:
            talk.settle()
            talk.write(b"this is not a frame at all")
            return _unless_failed(talk.leave())

    def refuses_unasked_rows(self) -> str:
        with self._talk() as talk:
            talk.settle()
            row = np.array([self.matches * talk.spec.seats], np.int32)
            talk.write(encode_actions(row, np.zeros(1, np.int32)))
            return _unless_failed(talk.leave())

    def stops_when_told(self) -> str:
        with self._talk() as talk:
            talk.settle()
            talk.write(encode_stop())
            return _unless_zero(talk.leave())

    def stops_with_its_stdin(self) -> str:
        with self._talk() as talk:
            talk.settle()
            talk.close_stdin()
            return _unless_zero(talk.leave())

    def _talk(
        self,
        options: Mapping[str, Any] | None = None,
        *,
        schedule: list[tuple[int, int]] | None = None,
        resume: Resumption | None = None,
        times_s: float | None = None,
    ) -> _Talk:
        chosen = dict(self.options if options is None else options)
        configure = Configure(self.matches, chosen, self.seed, schedule, resume=resume, times_s=times_s)
        return _Talk(self.command, configure, self.deadline_s)


class _Talk:
    """One process of the host, spoken to as a fleet would; made when HELLO has come."""

    def __init__(self, command: HostCommand, configure: Configure, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._reader = FrameReader()
        self._waiting: dict[int, tuple[int, NDArray[np.uint8]]] = {}  # row -> match number, packed mask
        self._asked: dict[tuple[int, int], int] = defaultdict(int)  # (number, seat) -> decisions
        self._seed, self._matches = configure.seed, configure.matches
        self.record: dict[int, list[bytes]] = defaultdict(list)  # number -> everything its seats were shown, in order
        self.endings: list[EndingHead] = []
        self.lost: list[int | None] = []
        self.times: list[TimesBody] = []
        self._timed = configure.times_s is not None
        self.began_s = time.monotonic()
        self.decisions = 0
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            command.argv,
            env={**os.environ, **command.env},
            cwd=command.cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
        )
        try:
            self.write(encode_configure(configure))
            self.spec = self._hello()
        except BaseException:
            self.close()
            raise
        self._ledger = Ledger(self.spec, configure.matches, configure.schedule, configure.resume)

    def play(self, decisions: int | None, at_once: int | None = None) -> None:
        """Until that many decisions were answered (None: until nobody asks), at most `at_once` rows in a frame."""
        while True:
            self.settle()
            if not self._waiting or (decisions is not None and self.decisions >= decisions):
                return
            rows = sorted(self._waiting)[:at_once]
            row = np.array(rows, np.int32)
            action = np.array([self._choose(row) for row in rows], np.int32)
            self._ledger.actions(row.astype(np.intp))
            self.decisions += len(rows)
            self.write(encode_actions(row, action))

    def where(self) -> Resumption:
        """Where this host stands; call when it has answered everything."""
        running = dict(self._ledger.running())
        return Resumption([running.get(slot) for slot in range(self._matches)], self._ledger.following)

    def settle(self) -> None:
        """Until the host has answered everything."""
        while self._ledger.owed:
            self._take(*self._frame())

    def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
        except BrokenPipeError:
            raise ProtocolError(f"it left early: {self.leave()}") from None

    def close_stdin(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def leave(self) -> int:
        """Exit status of a host that is expected to go by itself."""
        try:
            return self._process.wait(self._deadline_s)
        except subprocess.TimeoutExpired:
            raise ProtocolError(f"it was still there after {self._deadline_s:g} s") from None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._stderr):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> _Talk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _hello(self) -> GameSpec:
        kind, body = self._frame()
        if kind is Kind.ERROR:
            self._refused(decode_error(body))
        if kind is not Kind.HELLO:
            raise ProtocolError(f"its first frame is {kind.name}, expected HELLO")
        return decode_hello(body).spec()

    def _refused(self, error: ErrorBody) -> None:
        if error.kind == "configuration":
            raise HostRefused(error.message)
        raise ProtocolError(f"it reported an error: {error.message}")

    def _take(self, kind: Kind, body: memoryview) -> None:
        if kind is Kind.ARRIVALS:
            self._arrived(self._ledger.arrivals(body))
        elif kind is Kind.ENDING:
            head, final_obs, lapsed = self._ledger.ending(body)
            self.endings.append(head)
            self.record[head.number].append(repr((head.score, head.reward, head.truncated, head.seed)).encode())
            if final_obs is not None:
                self.record[head.number].append(final_obs.tobytes())
            for row in lapsed.tolist():
                self._waiting.pop(row, None)
        elif kind is Kind.TIMES and self._timed:
            self.times.append(decode_times(body))
        elif kind is Kind.ERROR and (error := decode_error(body)).kind == "match":
            number, _ = self._ledger.lost(error)
            self.lost.append(number)
        elif kind is Kind.ERROR:
            self._refused(decode_error(body))
        else:
            raise ProtocolError(f"it sent {kind.name}, expected ARRIVALS, ENDING or ERROR")

    def _arrived(self, came: ArrivalsBody) -> None:
        for index, row in enumerate(came.row.tolist()):
            number, seat = int(came.match[index]), row % self.spec.seats
            shown = (
                bytes([seat]),
                came.reward[index].tobytes(),
                came.legal[index].tobytes(),
                came.obs[index].tobytes(),
            )
            self.record[number].append(b"".join(shown))
            self._waiting[row] = number, came.legal[index]

    def _choose(self, row: int) -> int:
        """Depends on the match, the seat and the count of its decisions only, not on the order of arrival."""
        number, mask = self._waiting.pop(row)
        seat = row % self.spec.seats
        self._asked[number, seat] += 1
        legal = np.flatnonzero(np.unpackbits(mask, count=self.spec.actions, bitorder="little"))
        draw = derive(derive(derive(self._seed, number), seat), self._asked[number, seat])
        return int(legal[draw % len(legal)])

    def _frame(self) -> tuple[Kind, memoryview]:
        assert self._process.stdout is not None
        fd, end_s = self._process.stdout.fileno(), time.monotonic() + self._deadline_s
        while True:
            for frame in self._reader:
                return frame
            if not select.select([fd], [], [], max(0.0, end_s - time.monotonic()))[0]:
                raise ProtocolError(f"it sent nothing for {self._deadline_s:g} s")
            data = os.read(fd, READ_BYTES)
            if not data:
                self._reader.close()
                raise ProtocolError(f"it ended with status {self.leave()}; its last words: {self._last_words()}")
            self._reader.feed(data)

    def _last_words(self) -> str:
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "none")


def _unless_zero(status: int) -> str:
    return "" if status == 0 else f"it exited with status {status}"


def _unless_failed(status: int) -> str:
    return "" if status > 0 else f"it exited with status {status}, expected a failure it reports itself"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ludus.hosting.check", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--options", type=json.loads, default={}, help="the game's options, JSON")
    parser.add_argument("argv", nargs="+", metavar="PROGRAM", help="the host and its arguments, after --")
    chosen = parser.parse_args()
    report = check(HostCommand(tuple(chosen.argv)), chosen.options)
    print(report)
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
