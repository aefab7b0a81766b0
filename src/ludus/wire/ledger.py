"""Checks the frames of one host against the protocol, and records which answers and rows are outstanding. Pure.

A well-formed frame at the wrong time, for the wrong row or with invalid contents raises ProtocolError. Rows and slots
are local to the host; numbers are the host's match numbers.

Every frame passes through here, so the checks are few whole-array operations. Flags are searched and counted as bytes,
which is faster than any() and all() on small arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.errors import HostFault, ProtocolError
from ludus.limits import clipped
from ludus.spec import GameSpec, ObsSpec
from ludus.wire.bodies import ArrivalsBody, EndingHead, ErrorBody, Resumption
from ludus.wire.described import check_size
from ludus.wire.frames import Bytes, decode_arrivals, decode_ending

_NONE = -1
_NO_MATCH = 2**32 - 1  # the largest uint32, which is not allowed as a match number


# values of a float32's highest byte (sign and most of the exponent) for which the number is certainly within the limit
_SMALL = bytes(byte for byte in range(256) if byte % 128 < np.float32(limits.REWARD).view(np.uint32) >> 24)
_REWARDS = f"expected a finite number from -{limits.REWARD:g} to {limits.REWARD:g}: scale the rewards of the game"


class Ledger:
    """The record of one host from its HELLO on. The first answer that the host owes is its opening arrivals.

    Raises ProtocolError if the rows of all matches would need more memory than one host may use (`limits`).
    """

    def __init__(
        self,
        spec: GameSpec,
        matches: int,
        schedule: Sequence[tuple[int, int]] | None = None,
        resume: Resumption | None = None,
    ) -> None:
        check_size(spec, matches)
        self._spec = spec
        self._seats = spec.seats
        bits = np.packbits(np.ones(spec.actions, np.bool_), bitorder="little")
        self._word = np.dtype(
            f"u{len(bits)}" if len(bits) in (2, 4, 8) else "u1"
        )  # an integer type as wide as a mask, if there is one
        self._actual = bits.view(self._word)  # 1 for each bit that stands for an action, 0 for padding
        self._floats = float_ranges(spec.obs)
        self._waits_for = np.zeros(matches * spec.seats, np.bool_)  # the host waits for an action of this row
        self._last_match = np.full(matches * spec.seats, _NO_MATCH, np.uint32)  # match of its last arrival
        self._number = [_NONE] * matches  # the match that runs in each slot
        self._all_below = 0 if resume is None else resume.following  # all smaller match numbers have been used ...
        self._used: set[int] = set()  # ... and these larger ones
        self._resumed = {} if resume is None else dict(enumerate(resume.open))  # slot -> the number it opens with
        self._to_open = None if schedule is None else dict(schedule)
        self._running: dict[int, int] = {}  # scheduled matches that run: number -> seed
        self.waiting = 0  # number of rows whose actions the host waits for
        self.opened: set[int] = set()  # numbers of the matches that began; the owner clears it
        self.answers_due = 1  # answers that the host owes: one for the opening, one for each ACTIONS frame

    @property
    def unplayed(self) -> list[tuple[int, int]]:
        """Scheduled matches, (number, seed), that have not ended: those that run, then those that have not begun."""
        return [*self._running.items(), *(self._to_open or {}).items()]

    @property
    def unplayed_count(self) -> int:
        """The number of scheduled matches that have not ended. Cheap, however long the schedule is."""
        return len(self._running) + len(self._to_open or ())

    @property
    def following(self) -> int:
        """The number that the next match will have. Valid for a host without a schedule that owes no answer."""
        return max(self._used, default=self._all_below - 1) + 1

    def running(self) -> list[tuple[int, int]]:
        """Return (slot, number) of each running match."""
        return [(slot, number) for slot, number in enumerate(self._number) if number != _NONE]

    def arrivals(self, body: Bytes, next_rows: Callable[[int], NDArray[np.uint8]] | None = None) -> ArrivalsBody:
        """Decode and check an ARRIVALS frame, and record the rows that the host waits for.

        `next_rows` is passed to `decode_arrivals`. Raises ProtocolError.
        """
        self._must_owe("ARRIVALS")
        arrivals = decode_arrivals(body, self._spec.actions, self._spec.obs.nbytes, next_rows)
        if len(arrivals.row):
            self._note(arrivals)
            self._check_contents(arrivals)
        elif not arrivals.done:
            raise ProtocolError("ARRIVALS without rows that is not the last of its answer", HostFault.EMPTY_ARRIVALS)
        self.answers_due -= arrivals.done
        return arrivals

    def actions(self, row: NDArray[np.intp]) -> None:
        """Record that actions for these rows are sent. Raises ValueError for a row that the host does not wait for."""
        self._waits_for[row] = False
        waiting = self._waits_for.tobytes().count(1)
        if self.waiting - waiting != len(row):
            raise ValueError("a row was answered twice, or did not arrive before")
        self.waiting = waiting
        self.answers_due += 1

    def awaits(self, row: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return for each row whether the host waits for its action."""
        return self._waits_for[row]

    def waited_for(self) -> NDArray[np.intp]:
        """Return the rows whose actions the host waits for."""
        return np.flatnonzero(self._waits_for)

    def ending(self, body: Bytes) -> tuple[EndingHead, NDArray[np.uint8] | None, list[int]]:
        """Check an ENDING frame and free its slot.

        Returns its head, the final observations of a truncated match, and the rows that no longer need an action.
        Raises ProtocolError.
        """
        self._must_owe("ENDING")
        head, final_obs = decode_ending(body, self._seats, self._spec.obs.nbytes)
        if not 0 <= head.slot < len(self._number):
            raise ProtocolError(
                f"ENDING in slot {head.slot}, expected 0 to {len(self._number) - 1}", HostFault.BAD_ENDING
            )
        if self._number[head.slot] != head.number:
            runs = "no match runs" if self._number[head.slot] == _NONE else f"match {self._number[head.slot]} runs"
            raise ProtocolError(
                f"ENDING of match {head.number} in slot {head.slot}, where {runs}", HostFault.BAD_ENDING
            )
        for score in head.score:
            if not 0.0 <= score <= 1.0:
                raise ProtocolError(
                    f"ENDING of match {head.number} has scores {clipped(head.score)}, expected 0 to 1",
                    HostFault.BAD_ENDING,
                )
        for reward in head.reward:
            if not abs(reward) <= limits.REWARD:
                raise ProtocolError(
                    f"ENDING of match {head.number} has a reward of {reward:g}, {_REWARDS}", HostFault.NOT_FINITE
                )
        if len(head.out) > self._seats:
            raise ProtocolError(
                f"ENDING of match {head.number} has {len(head.out)} seats out of {self._seats}", HostFault.BAD_ENDING
            )
        for seat in head.out:
            if not 0 <= seat < self._seats:
                seats = f"seats {clipped(head.out)} out, expected 0 to {self._seats - 1}"
                raise ProtocolError(f"ENDING of match {head.number} has {seats}", HostFault.BAD_ENDING)
        if final_obs is not None:
            self._check_floats(final_obs, "the final observation")
        if self._running.get(head.number, head.seed) != head.seed:
            expected = self._running[head.number]
            raise ProtocolError(
                f"ENDING of match {head.number} has seed {head.seed}, scheduled was {expected}", HostFault.BAD_ENDING
            )
        return head, final_obs, self._free(head.slot)

    def lose(self, error: ErrorBody) -> tuple[int, int | None, list[int]]:
        """Check an ERROR of kind `match`, with which a host gives up one match, and free the slot.

        Returns the slot, the match's number (None if none of its rows has arrived) and the rows that no longer need an
        action. A scheduled match counts as played, because the same seed would fail again, unless the frame has
        `again`. Raises ProtocolError.
        """
        if error.slot is None or not 0 <= error.slot < len(self._number):
            raise ProtocolError(
                f"ERROR of kind match in slot {error.slot}, expected 0 to {len(self._number) - 1}", HostFault.BAD_ENDING
            )
        self._must_owe("ERROR of kind match")
        number = self._number[error.slot]
        if number != _NONE:
            seed = self._running.get(number)
            if error.again and self._to_open is not None and seed is not None:
                self._to_open[number] = seed
            return error.slot, number, self._free(error.slot)
        self._resumed.pop(error.slot, None)
        if self._to_open is None and error.number is not None:
            self._use(error.number)
        if self._to_open and not error.again:
            # a host plays its schedule in order, so this is the first match that has not begun
            self._to_open.pop(next(iter(self._to_open)) if error.number is None else error.number, None)
        return error.slot, None, []

    def _must_owe(self, what: str) -> None:
        if self.answers_due == 0:
            raise ProtocolError(f"{what} although all ACTIONS were answered", HostFault.NOT_OWED)

    def _note(self, arrivals: ArrivalsBody) -> None:
        # as unsigned numbers, negative rows are out of range as well; numpy indexes fastest with intp
        row, match = arrivals.row.view(np.uint32).astype(np.intp), arrivals.match
        try:
            first = self._last_match[row] != match
        except IndexError:
            worst = arrivals.row[row.argmax()]
            raise ProtocolError(
                f"ARRIVALS has row {worst}, expected 0 to {len(self._waits_for) - 1}", HostFault.BAD_ARRIVALS
            ) from None
        self._waits_for[row] = True
        waiting = self._waits_for.tobytes().count(1)
        if waiting - self.waiting != len(row):
            raise ProtocolError(
                "a row is twice in one ARRIVALS frame, or arrived again before it was answered", HostFault.ASKED_TWICE
            )
        self.waiting = waiting
        opens = arrivals.opens.tobytes()
        if 255 in match.tobytes()[3::4] and (match == _NO_MATCH).any():
            raise ProtocolError(
                f"ARRIVALS has match {_NO_MATCH}, expected 0 to {limits.MATCH_NUMBER}", HostFault.BAD_ARRIVALS
            )
        if first.tobytes() != opens:
            wrong = first != arrivals.opens
            raise ProtocolError(
                f"row {row[wrong][0]} has the wrong `opens`: it marks a row's first decision in a match",
                HostFault.WRONG_OPENS,
            )
        at = opens.find(1)
        while at >= 0:
            number, opened = match.item(at), row.item(at)
            slot = opened // self._seats
            if self._number[slot] != number:
                self._open(slot, number)
            self._last_match[opened] = number
            at = opens.find(1, at + 1)

    def _open(self, slot: int, number: int) -> None:
        if self._number[slot] != _NONE:
            raise ProtocolError(
                f"arrivals of match {number} in slot {slot} before match {self._number[slot]} ended there",
                HostFault.BAD_ENDING,
            )
        if self._to_open is None:
            resumed = self._resumed.pop(slot, None)
            if resumed is not None and resumed != number:
                raise ProtocolError(
                    f"slot {slot} opened with match {number}, expected match {resumed}", HostFault.BAD_ENDING
                )
            if resumed is None and (number < self._all_below or number in self._used):
                raise ProtocolError(f"match number {number} came twice", HostFault.BAD_ENDING)
            self._use(number)
        else:
            if number not in self._to_open:
                raise ProtocolError(
                    f"match {number} is not in the schedule, or was played before", HostFault.OFF_SCHEDULE
                )
            self._running[number] = self._to_open.pop(number)
        self._number[slot] = number
        self.opened.add(number)

    def _use(self, number: int) -> None:
        if number >= self._all_below:
            self._used.add(number)
        while self._all_below in self._used:
            self._used.remove(self._all_below)
            self._all_below += 1

    def _free(self, slot: int) -> list[int]:
        self._running.pop(self._number[slot], None)
        self._number[slot] = _NONE
        first = slot * self._seats
        rows = slice(first, first + self._seats)
        self._last_match[rows] = _NO_MATCH
        waits_for = self._waits_for[rows].tobytes()
        if 1 not in waits_for:
            return []
        self._waits_for[rows] = False
        self.waiting -= waits_for.count(1)
        return [first + seat for seat, flag in enumerate(waits_for) if flag]

    def _check_contents(self, arrivals: ArrivalsBody) -> None:
        choosable = arrivals.legal.view(self._word) & self._actual
        if choosable.shape[1] > 1:
            choosable = np.bitwise_or.reduce(choosable, axis=1)
        if 0 in choosable.astype(np.bool_).tobytes():
            raise ProtocolError(
                f"row {arrivals.row[choosable.ravel() == 0][0]} has an empty mask", HostFault.EMPTY_MASK
            )
        if arrivals.reward.tobytes()[3::4].translate(None, _SMALL):
            self._check_rewards(arrivals)
        if self._floats:
            self._check_floats(arrivals.obs, "an observation")

    def _check_rewards(self, arrivals: ArrivalsBody) -> None:
        is_wrong = ~(np.abs(arrivals.reward) <= limits.REWARD)
        if is_wrong.any():
            at = int(is_wrong.argmax())
            raise ProtocolError(
                f"row {arrivals.row[at]} has a reward of {arrivals.reward[at]:g}, {_REWARDS}", HostFault.NOT_FINITE
            )

    def _check_floats(self, obs: NDArray[np.uint8], what: str) -> None:
        for start, stop in self._floats:
            values = obs[:, start:stop].view(np.float32)
            # the sum is faster than isfinite, and is not finite if any value is not (or if it overflows)
            if not math.isfinite(np.einsum("ij->", values)) and not np.isfinite(values).all():
                raise ProtocolError(
                    f"{what} has a value that is not finite in leaf {self._bad_leaf(obs)!r}", HostFault.NOT_FINITE
                )

    def _bad_leaf(self, obs: NDArray[np.uint8]) -> str:
        for leaf in self._spec.obs.leaves:
            if leaf.dtype == "float32" and not np.isfinite(self._spec.obs.leaf(obs, leaf.name)).all():
                return leaf.name
        raise AssertionError("called for rows with a value that is not finite")


def float_ranges(obs: ObsSpec) -> list[tuple[int, int]]:
    """Return the byte ranges of a row that hold float32 values. Adjacent ranges are merged, so that there are few."""
    ranges: list[tuple[int, int]] = []
    for leaf in obs.leaves:
        if leaf.dtype != "float32" or leaf.nbytes == 0:
            continue
        stop = leaf.offset + leaf.nbytes
        if ranges and ranges[-1][1] == leaf.offset:
            ranges[-1] = (ranges[-1][0], stop)
        else:
            ranges.append((leaf.offset, stop))
    return ranges
