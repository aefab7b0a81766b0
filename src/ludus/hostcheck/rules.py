"""The rules of the host protocol: one method for each, which tries it on processes of its own."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ludus.errors import HostFault, HostRefused, ProtocolError
from ludus.hostcheck.talk import Talk
from ludus.processes.command import HostCommand
from ludus.wire.bodies import VERSION, Configure, Resumption
from ludus.wire.frames import HEADER, MAGIC, MAX_BODY, FrameKind, encode_actions, encode_stop
from ludus.wire.seeds import match_seed

TIMES_S = 0.1
SUM_WITHIN = 0.01  # tolerance, as a share of the whole, for hosts with a coarse clock
QUIET_S = 0.1  # in which a host that owes no answer must send nothing
SPEED_S = 0.5
ROUNDS = 50  # most repeats of the measurement whether rows are held back
SLOW_S = 0.02  # answers that take longer must not hold back rows that are ready
PARALLEL = 1.5  # matches run in parallel if an answer for all takes less than this times an answer for one
UNKNOWN_OPTION = "no_host_has_an_option_of_this_name"


@dataclass(frozen=True, slots=True)
class RuleChecks:
    """One method for each rule. It returns what it measured, if anything, or raises HostError if the rule is broken."""

    command: HostCommand
    options: dict[str, Any]  # Any: the game's own
    matches: int
    decisions: int
    seed: int
    deadline_s: float

    def rules(self) -> dict[str, Callable[[], str]]:
        return {
            "Matches continue while others wait for actions": self.plays_in_parts,
            "It sends rows when they are ready, not all at the end": self.sends_the_first_first,
            "It sends nothing while it owes no answer": self.is_silent,
            "Same seed and same actions give the same match": self.repeats,
            "It plays exactly its schedule and then waits": self.keeps_its_schedule,
            "It continues matches of an earlier process": self.resumes,
            "The activities in its TIMES frames add up to the total": self.tells_times,
            "It refuses an unknown option and names it": self.refuses_unknown_options,
            "It refuses bytes that are not a frame": self.refuses_garbage,
            "It refuses a frame that is too large": self.refuses_huge_frames,
            "It refuses an action for a row that was not asked": self.refuses_unasked_rows,
            "It refuses an action that is out of range": self.refuses_actions_out_of_range,
            "It exits with status 0 after STOP": self.stops_when_told,
            "It exits with status 0 when its stdin is closed": self.stops_with_its_stdin,
            "Speed": self.speed,
        }

    def greets(self) -> str:
        with self._talk() as talk:
            spec = talk.spec
            leaves = ", ".join(f"{leaf.name} {leaf.dtype}{list(leaf.shape)}" for leaf in spec.obs.leaves[:4])
            more = " ..." if len(spec.obs.leaves) > 4 else ""
            size = f"{spec.seats} seats, {spec.actions} actions, {spec.obs.nbytes} bytes a row"
            return f"{spec.name}: {size} ({leaves}{more})"

    def plays(self) -> str:
        with self._talk() as talk:
            talk.play(self.decisions, within_s=self.deadline_s)
            other = [head for head in talk.endings if head.seed != match_seed(self.seed, head.number)]
            if other:
                expected = match_seed(self.seed, other[0].number)
                detail = f"ENDING of match {other[0].number} has seed {other[0].seed}, expected {expected}"
                raise ProtocolError(detail, HostFault.BAD_ENDING)
            while not talk.endings:
                if talk.decisions >= 50 * self.decisions:
                    raise ProtocolError(f"no match ended within {talk.decisions:,} decisions", HostFault.NO_ENDING)
                talk.play(talk.decisions + self.decisions)
            losses = f", {len(talk.lost_matches)} lost by the host" if talk.lost_matches else ""
            return f"{talk.decisions:,} decisions, {len(talk.endings):,} matches ended{losses}"

    def plays_in_parts(self) -> str:
        with self._talk() as talk:
            talk.play(self.decisions, at_once=max(1, self.matches // 2), within_s=self.deadline_s)
        return ""

    def sends_the_first_first(self) -> str:
        """A host that plays one match after another, slowly, must send rows as soon as they are ready."""
        with self._talk(parts=self.matches) as talk:
            talk.settle()
            alone: list[float] = []
            together: list[float] = []
            talk.early_rows = 0
            end_s = time.monotonic() + SPEED_S
            while talk.waiting() and len(together) < ROUNDS and (not together or time.monotonic() < end_s):
                first = talk.waiting()[0] // talk.spec.seats
                alone.append(self._answered(talk, [r for r in talk.waiting() if r // talk.spec.seats == first]))
                together.append(self._answered(talk, talk.waiting()))
            whole_s, one_s = statistics.median(together), statistics.median(alone)
            if whole_s > max(SLOW_S, PARALLEL * one_s) and not talk.early_rows and self.matches > 1:
                raise ProtocolError(
                    f"an answer for {self.matches} matches took {1e3 * whole_s:.0f} ms, one for a single match "
                    f"{1e3 * one_s:.0f} ms, and no row ever came before the end of an answer",
                    HostFault.ROWS_HELD_BACK,
                )
            return f"one match {_ms(one_s)}, all {self.matches} {_ms(whole_s)}, {talk.early_rows:,} rows came early"

    def is_silent(self) -> str:
        with self._talk() as talk:
            for decisions in (0, self.decisions // 4):
                talk.play(decisions, within_s=self.deadline_s)
                unexpected = talk.silent(QUIET_S)
                if unexpected:
                    raise ProtocolError(f"{unexpected} came although all ACTIONS were answered", HostFault.NOT_OWED)
        return ""

    def repeats(self) -> str:
        records = []
        for at_once in (None, 1):  # the second time, rows are answered one by one
            with self._talk() as talk:
                talk.play(self.decisions, at_once=at_once, within_s=self.deadline_s)
                records.append(talk.record)
        shared = sorted(records[0].keys() & records[1].keys())
        for number in shared:
            shorter = min(len(record[number]) for record in records)
            if records[0][number][:shorter] != records[1][number][:shorter]:
                raise ProtocolError(f"match {number} differed when it was played again", HostFault.NOT_REPEATED)
        return f"{len(shared)} matches played twice"

    def keeps_its_schedule(self) -> str:
        schedule = [(7 * i + 3, match_seed(self.seed, i)) for i in range(self.matches + 2)]
        with self._talk(schedule=schedule) as talk:
            talk.play(None)
            played = [(head.number, head.seed) for head in talk.endings] + [(number, 0) for number in talk.lost_matches]
            missing = {number for number, _ in schedule} - {number for number, _ in played}
            if missing:
                raise ProtocolError(
                    f"matches {sorted(missing)} of the schedule were not played", HostFault.OFF_SCHEDULE
                )
        return ""

    def resumes(self) -> str:
        with self._talk() as first:
            first.play(self.decisions // 2, within_s=self.deadline_s)
            resume = first.where()
        with self._talk(resume=resume) as second:
            second.play(self.decisions, within_s=self.deadline_s)
        for number in resume.open:
            before, after = first.record[number or 0], second.record[number or 0]
            shorter = min(len(before), len(after))
            if not shorter or before[:shorter] != after[:shorter]:
                raise ProtocolError(f"match {number} differed in the second process", HostFault.NOT_REPEATED)
        return ""

    def tells_times(self) -> str:
        """TIMES frames are optional: a host that sends none passes."""
        with self._talk(times_s=TIMES_S) as talk:
            began_s = time.monotonic()
            while time.monotonic() - began_s < 4 * TIMES_S:
                talk.play(talk.decisions + 1)
            reports = talk.times
            spent_s, alive_s = time.monotonic() - began_s, time.monotonic() - talk.began_s
        for times in reports:
            total_ns = sum(durations.total_ns for durations in times.activities.values())
            if abs(total_ns - times.wall_ns) > SUM_WITHIN * times.wall_ns:
                detail = f"its activities sum to {total_ns / 1e6:.2f} ms of {times.wall_ns / 1e6:.2f} ms"
                raise ProtocolError(detail, HostFault.BAD_TIMES)
            for activity, durations in times.activities.items():
                counted = sum(durations.buckets.values())
                if counted != durations.passes:
                    raise ProtocolError(
                        f"{activity} has {durations.passes:g} passes and {counted:g} in its buckets",
                        HostFault.BAD_TIMES,
                    )
        if sum(times.wall_ns for times in reports) / 1e9 > alive_s:
            raise ProtocolError("its TIMES frames report more time than has passed", HostFault.BAD_TIMES)
        often = spent_s / TIMES_S + 1
        if len(reports) > often:
            raise ProtocolError(
                f"it sent {len(reports)} TIMES frames, expected at most {often:.0f}", HostFault.BAD_TIMES
            )
        return "" if reports else "it sends no TIMES frames, which are optional"

    def refuses_unknown_options(self) -> str:
        try:
            with self._talk({**self.options, UNKNOWN_OPTION: 1}):
                raise ProtocolError("it accepted an unknown option", HostFault.UNKNOWN_OPTION)
        except HostRefused as refusal:
            if UNKNOWN_OPTION not in str(refusal):
                raise ProtocolError(
                    f"its error does not name the unknown option: {refusal}", HostFault.UNKNOWN_OPTION
                ) from None
        return ""

    def refuses_garbage(self) -> str:
        return self._refuses(b"this is not a frame at all")

    def refuses_huge_frames(self) -> str:
        return self._refuses(HEADER.pack(MAGIC, VERSION, FrameKind.ACTIONS, MAX_BODY + 8))

    def refuses_unasked_rows(self) -> str:
        with self._talk() as talk:
            seats = talk.spec.seats
        return self._refuses(encode_actions(np.array([self.matches * seats], np.int32), np.zeros(1, np.int32)))

    def refuses_actions_out_of_range(self) -> str:
        with self._talk() as talk:
            talk.settle()
            row, action = talk.waiting()[0], talk.spec.actions
            talk.write(encode_actions(np.array([row], np.int32), np.array([action], np.int32)))
            return _failed(talk.leave())

    def stops_when_told(self) -> str:
        with self._talk() as talk:
            talk.settle()
            talk.write(encode_stop())
            return _left(talk)

    def stops_with_its_stdin(self) -> str:
        with self._talk() as talk:
            talk.settle()
            talk.close_stdin()
            return _left(talk)

    def speed(self) -> str:
        with self._talk() as talk:
            talk.settle()
            opened_s = time.monotonic() - talk.began_s
            spans: list[float] = []
            end_s = time.monotonic() + SPEED_S
            while talk.waiting() and (not spans or time.monotonic() < end_s):
                spans.append(self._answered(talk, talk.waiting()[:1]))
            began, began_s = talk.decisions, time.monotonic()
            talk.play(None, within_s=SPEED_S)
            rate = (talk.decisions - began) / (time.monotonic() - began_s)
        spans.sort()
        middle, late = _ms(statistics.median(spans)), _ms(spans[int(0.95 * (len(spans) - 1))])
        return (
            f"HELLO after {talk.greeted_s:.2f} s, matches open after {opened_s:.2f} s; an answer to one row {middle} "
            f"(p95 {late}); {rate:,.0f} decisions/s with {self.matches} matches"
        )

    def _answered(self, talk: Talk, rows: list[int]) -> float:
        began_s = time.monotonic()
        if rows:
            talk.answer(rows)
            talk.settle()
        return time.monotonic() - began_s

    def _refuses(self, data: bytes) -> str:
        with self._talk() as talk:
            talk.settle()
            talk.write(data)
            return _failed(talk.leave())

    def _talk(
        self,
        options: Mapping[str, Any] | None = None,
        *,
        schedule: list[tuple[int, int]] | None = None,
        resume: Resumption | None = None,
        times_s: float | None = None,
        parts: int = 1,
    ) -> Talk:
        all_options = dict(self.options if options is None else options)
        configure = Configure(
            self.matches, all_options, self.seed, schedule, resume=resume, times_s=times_s, parts=parts
        )
        return Talk(self.command, configure, self.deadline_s)


def _left(talk: Talk) -> str:
    began_s = time.monotonic()
    status = talk.leave()
    if status:
        raise ProtocolError(f"it exited with status {status}, expected 0", HostFault.DID_NOT_STOP)
    return f"after {_ms(time.monotonic() - began_s)}"


def _failed(status: int) -> str:
    if status <= 0:
        detail = f"it exited with status {status}, expected a failure it reports itself"
        raise ProtocolError(detail, HostFault.DID_NOT_FAIL)
    return ""


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms" if seconds < 0.1 else f"{seconds:.2f} s"
