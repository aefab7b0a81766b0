"""The rollout loop, on matches in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from tests.running import small_run

from ludus.actors.actor import Actor
from ludus.actors.resolved import resolve
from ludus.config.settings import FleetConfig, LearnerConfig, RolloutConfig
from ludus.fleet.inprocess import InProcessFleet
from ludus.games.toy.matches import new_match, spec_of
from ludus.games.toy.options import ToyOptions
from ludus.league.pool import Pool
from ludus.types import SegmentBatch

MATCHES, SEGMENT = 6, 4
IDENTITY = ToyOptions(game="identity", rounds=5)


def new_actor(folder: Path, options: ToyOptions = IDENTITY, algorithm: Literal["ppo", "rnad"] = "ppo") -> Actor:
    spec = spec_of(options)
    config = small_run(
        1,
        fleet=FleetConfig(hosts=1, matches=MATCHES),
        rollout=RolloutConfig(segment=SEGMENT),
        learner=LearnerConfig(algorithm=algorithm, decisions=MATCHES // 2 * SEGMENT, minibatch=SEGMENT),
    )
    fleet = InProcessFleet(spec, lambda: new_match(options, spec), MATCHES)
    return Actor(fleet, resolve(config), Pool(folder, 4))


class Rounds:
    """Counts how often it is asked whether to stop, and says so after `most`."""

    def __init__(self, most: int = 1000) -> None:
        self.count, self._most = 0, most

    def __call__(self) -> bool:
        self.count += 1
        return self.count > self._most


def filled(actor: Actor) -> tuple[SegmentBatch, int]:
    batch, rounds = actor.layout.allocate(), Rounds()
    assert actor.play(batch, rounds)
    return batch, rounds.count


def test_rows_in_step_are_played_on_with_until_their_segments_are_complete(tmp_path: Path) -> None:
    """Two batches are full at once; what is played while there is none to fill belongs to the next two."""
    steady, interrupted = new_actor(tmp_path), new_actor(tmp_path)
    expected = [filled(steady) for _ in range(4)]
    assert [rounds for _, rounds in expected] == [SEGMENT + 1, 0, SEGMENT, 0]
    found = [filled(interrupted)[0] for _ in range(2)]
    half = Rounds(SEGMENT // 2)
    interrupted.play_on(half)
    rest = Rounds()
    interrupted.play_on(rest)
    assert half.count - 1 + rest.count == SEGMENT
    idle = Rounds()
    for _ in range(2):
        batch, rounds = filled(interrupted)
        assert rounds == 0, "it was complete before there was a batch for it"
        found.append(batch)
        interrupted.play_on(idle)
    for (batch, _), other in zip(expected, found, strict=True):
        assert_equal(batch, other)


def assert_equal(batch: SegmentBatch, other: SegmentBatch) -> None:
    for name in SegmentBatch.columns():
        np.testing.assert_array_equal(getattr(batch, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("algorithm", ["ppo", "rnad"])
def test_batches_are_the_same_when_there_is_not_always_one_to_fill(
    tmp_path: Path, algorithm: Literal["ppo", "rnad"]
) -> None:
    """Two seats in turn, matches of several lengths: rows are not in step."""
    steady, interrupted = (new_actor(tmp_path, ToyOptions(game="nim"), algorithm) for _ in range(2))
    for at in range(40):
        interrupted.play_on(Rounds(at % 7))
        assert_equal(filled(steady)[0], filled(interrupted)[0])


def test_what_waits_for_a_batch_has_its_limit(tmp_path: Path) -> None:
    actor = new_actor(tmp_path)
    filled(actor)
    rounds = Rounds()
    for _ in range(5):
        actor.play_on(rounds)
    assert rounds.count == SEGMENT, "half of the rows' segments waited, then all of the next; there is room for no more"
