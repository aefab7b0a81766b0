"""Segments against a slow twin that keeps a Python list per row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ludus.rollout.segments import SegmentLayout, Segments
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals, Choices, Ending, SegmentBatch

SPEC = GameSpec("fake", 2, 3, ObsSpec.pack({"x": ("uint8", (5,))}), 1)
FIELDS = ("obs", "legal", "action", "logp", "value", "reward", "ends", "final_value", "opens", "version")
SEGMENT = ("next_value", "hidden_state")  # have no time axis


def value_of(obs: NDArray[np.uint8], row: NDArray[np.int32]) -> NDArray[np.float32]:
    total: NDArray[np.float32] = (obs.sum(axis=1) + 1000 * row).astype(np.float32)
    return total


@dataclass
class SlowRow:
    decisions: list[dict[str, Any]] = field(default_factory=list)
    began: int = 0
    live: bool = False


class SlowSegments:
    """What the module's docstring says, one decision at a time."""

    def __init__(self, rows: int, length: int) -> None:
        self.rows = [SlowRow() for _ in range(rows)]
        self.length = length
        self.complete: list[tuple[list[dict[str, Any]], float]] = []

    def close(self, arrivals: Arrivals) -> None:
        for ending in arrivals.endings:
            for seat, row in enumerate(ending.rows):
                self.end(self.rows[row], ending, seat)
        for row, reward in zip(arrivals.row, arrivals.reward, strict=True):
            if self.rows[row].live:
                self.rows[row].decisions[-1]["reward"] = reward

    def end(self, row: SlowRow, ending: Ending, seat: int) -> None:
        if not row.live:
            return
        row.live = False
        if ending.void:
            del row.decisions[row.began :]
            return
        final = None if seat in ending.out else ending.final_obs
        row.decisions[-1].update(
            reward=ending.reward[seat],
            ends=True,
            final_value=0.0 if final is None else value_of(final[seat : seat + 1], ending.rows[seat : seat + 1])[0],
        )
        if len(row.decisions) == self.length:
            self.finish(row, 0.0)

    def open(self, arrivals: Arrivals, choices: Choices, learning: NDArray[np.bool_]) -> None:
        for at, index in enumerate(arrivals.row):
            if learning[at] and len(self.rows[index].decisions) == self.length:
                self.finish(self.rows[index], choices.value[at])
        for at, index in enumerate(arrivals.row):
            row = self.rows[index]
            if not learning[at]:
                continue
            if arrivals.opens[at]:
                row.began = len(row.decisions)
            row.live = True
            row.decisions.append(
                {
                    "obs": arrivals.obs[at],
                    "legal": arrivals.legal[at],
                    "action": choices.action[at],
                    "logp": choices.logp[at],
                    "value": choices.value[at],
                    "reward": 0.0,
                    "ends": False,
                    "final_value": 0.0,
                    "opens": arrivals.opens[at],
                    "version": choices.version,
                    "hidden_state": () if choices.hidden_state is None else choices.hidden_state[at],
                }
            )

    def finish(self, row: SlowRow, next_value: float) -> None:
        self.complete.append((row.decisions, next_value))
        row.decisions, row.began = [], 0


class Story:
    """Random matches: seats are asked at different times, matches end, are truncated or voided, strangers sit in."""

    def __init__(self, matches: int, random: np.random.Generator) -> None:
        self.random = random
        self.begun = matches
        self.number = list(range(matches))
        self.learner = [self.seats() for _ in range(matches)]
        self.fresh = np.ones((matches, 2), np.bool_)

    def seats(self) -> list[bool]:
        return [[True, True], [True, False], [False, True]][self.random.integers(3)]

    def arrivals(self) -> tuple[Arrivals, NDArray[np.bool_]]:
        random = self.random
        endings = [self.ending(slot) for slot in range(len(self.number)) if random.random() < 0.15]
        row = random.permutation(2 * len(self.number))[: random.integers(0, 2 * len(self.number) + 1)].astype(np.int32)
        n = len(row)
        slot, seat = row // 2, row % 2
        opens = self.fresh[slot, seat]
        self.fresh[slot, seat] = False
        arrivals = Arrivals(
            row,
            np.array([self.number[one] for one in slot], np.int64),
            random.integers(0, 255, (n, SPEC.obs.nbytes), np.uint8),
            random.random((n, 3)) < 0.5,
            random.normal(size=n).astype(np.float32),
            opens,
            tuple(endings),
        )
        return arrivals, np.array([self.learner[s][p] for s, p in zip(slot, seat, strict=True)], np.bool_)

    def ending(self, slot: int) -> Ending:
        random, kind = self.random, self.random.integers(3)
        ending = Ending(
            self.number[slot],
            np.arange(2 * slot, 2 * slot + 2, dtype=np.int32),
            np.array([1.0, 0.0], np.float32),
            random.normal(size=2).astype(np.float32),
            truncated=kind == 1,
            seed=0,
            final_obs=random.integers(0, 255, (2, SPEC.obs.nbytes), np.uint8) if kind == 1 else None,
            void="died" if kind == 2 else "",
            out=(int(random.integers(2)),) if kind == 1 and random.random() < 0.5 else (),
        )
        self.number[slot], self.begun = self.begun, self.begun + 1
        self.learner[slot] = self.seats()
        self.fresh[slot] = True
        return ending


def choices_for(arrivals: Arrivals, version: int, random: np.random.Generator, hidden_state: int = 0) -> Choices:
    n = len(arrivals)
    return Choices(
        random.integers(0, 3, n).astype(np.int32),
        random.normal(size=n).astype(np.float32),
        random.normal(size=n).astype(np.float32),
        version,
        random.normal(size=(n, hidden_state)).astype(np.float32) if hidden_state else None,
    )


def assert_equal(batches: list[SegmentBatch], slow: list[tuple[list[dict[str, Any]], float]]) -> None:
    fast = {name: np.concatenate([getattr(batch, name) for batch in batches]) for name in (*FIELDS, *SEGMENT)}
    for at, (decisions, next_value) in enumerate(slow):
        assert fast["next_value"][at] == np.float32(next_value)
        np.testing.assert_array_equal(
            fast["hidden_state"][at], decisions[0]["hidden_state"], err_msg=f"hidden state of segment {at}"
        )
        for name in FIELDS:
            expected = np.stack([decision[name] for decision in decisions]).astype(fast[name].dtype)
            np.testing.assert_array_equal(fast[name][at], expected, err_msg=f"{name} of segment {at}")


@settings(max_examples=40, deadline=None)
@given(
    matches=st.integers(1, 6),
    length=st.integers(1, 5),
    size=st.integers(1, 9),
    seed=st.integers(0, 2**32 - 1),
    resumed_every=st.sampled_from([1000, 7, 1]),
    hidden_state=st.sampled_from([0, 3]),
    held_back=st.sampled_from([0.0, 0.7]),
)
def test_segments_hold_what_a_list_per_row_would_hold(
    matches: int, length: int, size: int, seed: int, resumed_every: int, hidden_state: int, held_back: float
) -> None:
    """`held_back`: how often there is no batch to fill when one is full."""
    random = np.random.default_rng(seed)
    story, slow = Story(matches, random), SlowSegments(2 * matches, length)
    fast, layout = Segments(SPEC, 2 * matches, length, hidden_state), SegmentLayout(SPEC, size, length, hidden_state)
    batches: list[SegmentBatch] = []
    batch = layout.allocate()
    fast.fill(batch)
    for version in range(80):
        while fast.full and not (fast.roomy and random.random() < held_back):
            batches.append(batch)
            batch = layout.allocate()
            fast.fill(batch)
        if version % resumed_every == resumed_every - 1:
            if fast.full:
                batches.append(batch)
            state = fast.state()
            fast, batch = Segments(SPEC, 2 * matches, length, hidden_state), layout.allocate()
            fast.restore(state)
            fast.fill(batch)
        arrivals, learning = story.arrivals()
        choices = choices_for(arrivals, version, random, hidden_state)
        fast.close(arrivals, value_of)
        fast.open(arrivals, choices, None if learning.all() else learning)
        slow.close(arrivals)
        slow.open(arrivals, choices, learning)
    if fast.full:
        batches.append(batch)
    whole = len(batches) * size
    assert whole <= len(slow.complete) < whole + size + (4 if held_back else 2) * matches
    if batches:
        assert_equal(batches, slow.complete[:whole])


def one_decision(row: int, *, opens: bool = False, endings: tuple[Ending, ...] = (), reward: float = 0.0) -> Arrivals:
    return Arrivals(
        np.array([row], np.int32),
        np.zeros(1, np.int64),
        np.zeros((1, SPEC.obs.nbytes), np.uint8),
        np.ones((1, 3), np.bool_),
        np.array([reward], np.float32),
        np.array([opens]),
        endings,
    )


def choose(value: float) -> Choices:
    return Choices(np.zeros(1, np.int32), np.zeros(1, np.float32), np.array([value], np.float32), 7)


def test_segment_waits_for_the_value_of_the_next_decision() -> None:
    segments, batch = Segments(SPEC, 2, 2), SegmentLayout(SPEC, 1, 2).allocate()
    segments.fill(batch)
    for value, opens in ((1.0, True), (2.0, False)):
        arrivals = one_decision(0, opens=opens)
        segments.close(arrivals, value_of)
        segments.open(arrivals, choose(value), None)
    assert not segments.full
    last = one_decision(0, reward=5.0)
    segments.close(last, value_of)
    assert not segments.full
    segments.open(last, choose(3.0), None)
    assert segments.full
    assert batch.value.tolist() == [[1.0, 2.0]]
    assert batch.reward.tolist() == [[0.0, 5.0]]
    assert batch.next_value.tolist() == [3.0]


@pytest.mark.parametrize("before", [0, 1, 2])
def test_voided_match_takes_back_its_own_decisions_only(before: int) -> None:
    """`before` decisions belong to a match that ended; those of the match that was lost must not reach the learner."""
    segments, batch = Segments(SPEC, 2, 3), SegmentLayout(SPEC, 1, 3).allocate()
    segments.fill(batch)

    def play(count: int, value: float, endings: tuple[Ending, ...] = ()) -> None:
        for at in range(count):
            arrivals = one_decision(0, opens=at == 0, endings=endings if at == 0 else ())
            segments.close(arrivals, value_of)
            segments.open(arrivals, choose(value), None)

    def ending(void: str) -> tuple[Ending, ...]:
        rows = np.arange(2, dtype=np.int32)
        return (Ending(0, rows, np.zeros(2, np.float32), np.zeros(2, np.float32), False, 0, void=void),)

    play(before, 1.0)
    play(1, 9.0, ending("") if before else ())
    play(4, 2.0, ending("died"))
    assert segments.full
    assert batch.value.tolist() == [[1.0] * before + [2.0] * (3 - before)]


def test_a_batch_that_was_handed_over_is_not_kept_and_open_segments_only_as_far_as_they_go() -> None:
    segments, batch = Segments(SPEC, 2, 2), SegmentLayout(SPEC, 1, 2).allocate()
    segments.fill(batch)
    for at in range(3):
        arrivals = one_decision(0, opens=at == 0)
        segments.close(arrivals, value_of)
        segments.open(arrivals, choose(at), None)
    assert segments.full
    state = segments.state()
    assert len(state["complete.action"]) == 0
    assert state["open.value"].tolist() == [2.0]
    assert state["position"].tolist() == [1, 0]


def test_recorded_decisions_are_those_in_no_full_batch() -> None:
    segments, batch = Segments(SPEC, 2, 2), SegmentLayout(SPEC, 2, 2).allocate()
    segments.fill(batch)
    counts = []
    for at in range(6):
        arrivals = one_decision(0, opens=at == 0)
        segments.close(arrivals, value_of)
        segments.open(arrivals, choose(at), None)
        counts.append(segments.recorded)
    assert counts == [1, 2, 3, 4, 1, 2]  # the fifth decision fills the batch of two segments
