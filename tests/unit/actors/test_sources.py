"""Batches from several actors, with actors that do what the test tells them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.running import small_run

from ludus.actors import saved_actors
from ludus.actors.in_flight import ActorState
from ludus.actors.port import ActorPort
from ludus.actors.resolved import resolve
from ludus.actors.sources import ActorSource
from ludus.config.settings import ActorsConfig
from ludus.errors import FleetError, LudusError, TrainingError
from ludus.league.matchmaking import CurrentOpponent, MatchmakerState, OpponentNews
from ludus.league.records import Record
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec, ObsSpec
from ludus.types import SegmentBatch

SPEC = GameSpec("fake", 1, 2, ObsSpec.pack({"x": ("float32", (2,))}), 1)
WEIGHTS = np.zeros(2, np.float32)


class FakeActor:
    """Has parts to give out whenever the test adds some. Every part contains the actor's number."""

    playing = True
    under_way = 0
    state: ActorState | None = None

    def __init__(self, index: int, parts: int = 0, spec: GameSpec = SPEC) -> None:
        self.index = index
        self.filled = parts
        self.spec: GameSpec | None = spec
        self.error: LudusError | None = None
        self.given_up = self.closed = False
        self.version = -1
        self.past: list[int] = []
        self.answers = True
        self._path: Path | None = None
        self.news: OpponentNews | None = None

    def open(self) -> None: ...

    def start(self, weights: NDArray[np.float32], version: int) -> None:
        self.version = version

    def poll(self, timeout_s: float) -> bool:
        if self.error is not None:
            raise self.error
        return False

    def fileno(self) -> int | None:
        return None

    def take(self) -> SegmentBatch:
        self.filled -= 1
        part = SegmentLayout(SPEC, 16, 8).allocate()
        part.action[:] = self.index
        return part

    def release(self) -> None: ...

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        self.version = version

    def set_past(self, versions: Sequence[int]) -> None:
        self.past = list(versions)

    def tell(self, news: OpponentNews) -> None:
        self.news = news

    def begin_save(self, path: Path) -> None:
        if self.error is not None:
            raise self.error
        if self.answers:
            path.write_bytes(b"matches of %d" % self.index)
        self._path = path

    @property
    def saving(self) -> bool:
        return not self.answers

    def end_save(self) -> bool:
        return self.answers

    def give_up(self) -> None:
        self.given_up = True

    def close(self) -> None:
        self.closed = True


def source(*actors: FakeActor, waiting: Sequence[SegmentBatch] = ()) -> tuple[ActorSource, Metrics]:
    metrics = Metrics()
    ports: list[ActorPort] = list(actors)
    return ActorSource(ports, metrics, waiting=waiting), metrics


def who(batch: SegmentBatch | None) -> list[int]:
    assert batch is not None
    return [int(actor) for actor in batch.action[::16, 0]]


def test_a_batch_has_parts_of_whichever_actors_are_ready() -> None:
    fast, slow = FakeActor(0, parts=3), FakeActor(1, parts=1)
    opened, metrics = source(fast, slow)
    assert opened.ready()
    assert sorted(who(opened.next(lambda: False))) == [0, 1]
    assert metrics.snapshot()[names.QUEUE] == 1.0  # batches
    assert who(opened.next(lambda: False)) == [0, 0]  # the slow one is not waited for
    assert not opened.ready()


def test_one_actor_hands_its_part_over_without_a_copy() -> None:
    actor = FakeActor(0, parts=1)
    opened, _ = source(actor)
    assert who(opened.next(lambda: False)) == [0]


def test_an_actor_that_fails_for_good_is_left_out_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    lost, other = FakeActor(0), FakeActor(1, parts=2)
    opened, metrics = source(lost, other)
    opened.start(WEIGHTS, 0)
    lost.error = FleetError("no host is left")
    assert who(opened.next(lambda: False)) == [1, 1]
    assert lost.given_up
    assert metrics.counter(names.ACTORS_GIVEN_UP) == 1
    assert (metrics.snapshot()[names.ACTORS_PLAYING], metrics.snapshot()[names.ACTORS_TOTAL]) == (1, 2)
    assert "no host is left; the run goes on with 1 of 2 actors" in caplog.text
    opened.publish(WEIGHTS, 4)
    assert (lost.version, other.version) == (0, 4)


def test_the_error_of_the_last_actor_ends_the_run() -> None:
    actors = FakeActor(0), FakeActor(1)
    opened, _ = source(*actors)
    actors[0].error = FleetError("no host is left")
    actors[1].error = TrainingError("the actor died")
    with pytest.raises(TrainingError, match="the actor died"):
        opened.next(lambda: False)


def test_hosts_that_describe_different_games_are_refused_and_all_actors_closed() -> None:
    other = GameSpec("other", 1, 2, ObsSpec.pack({"x": ("float32", (3,))}), 1)
    actors = FakeActor(0), FakeActor(1, spec=other)
    opened, _ = source(*actors)
    with pytest.raises(TrainingError, match="describe different games"), opened.opened():
        pass
    assert all(actor.closed for actor in actors)


def test_a_save_has_the_matches_of_those_that_answer_and_the_parts_of_an_unfinished_batch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = resolve(small_run(mode="overlapped", actors=ActorsConfig(count=2)))
    actors = FakeActor(0), FakeActor(1, parts=1)
    opened, _ = source(*actors)
    stops = iter([False, True])
    assert opened.next(lambda: next(stops)) is None
    actors[0].error = TrainingError("it is starting")
    path = tmp_path / "matches"
    assert opened.save(path)
    assert "the matches of actor 0 are not saved: it is starting" in caplog.text
    assert [each.name for each in tmp_path.iterdir()] == ["matches"]
    (part,) = saved_actors.read_waiting(path, run)
    assert part.action.shape == (16, 8)
    resumed, _ = source(FakeActor(0, parts=1), FakeActor(1), waiting=[part])
    assert resumed.ready()
    assert who(resumed.next(lambda: False)) == [1, 0]


def test_actors_that_are_added_get_the_weights_and_fill_parts(tmp_path: Path) -> None:
    first, added = FakeActor(0), FakeActor(1, parts=2)
    due: list[list[ActorPort]] = [[], [added]]
    metrics = Metrics()
    opened = ActorSource([first], metrics, parts=2, more=lambda version: due.pop(0))
    opened.start(WEIGHTS, 0)
    opened.publish(WEIGHTS, 1)
    opened.set_past([1])
    opened.publish(WEIGHTS, 2)
    assert (added.version, added.past) == (2, [1])
    assert metrics.counter(names.ACTORS_ADDED) == 1
    assert metrics.snapshot()[names.ACTORS_TOTAL] == 2
    assert who(opened.next(lambda: False)) == [1, 1]
    assert opened.save(tmp_path / "matches")
    with opened.opened():
        pass
    assert added.closed


def test_nothing_is_saved_where_no_actor_answers(tmp_path: Path) -> None:
    actors = [FakeActor(0), FakeActor(1)]
    for actor in actors:
        actor.answers = False
    ports: list[ActorPort] = list(actors)
    assert not saved_actors.save_all(ports, 2, tmp_path / "matches", 0.05, [])
    assert list(tmp_path.iterdir()) == []


def test_every_actor_hears_the_results_of_all_others_after_each_update() -> None:
    actors = [FakeActor(index) for index in range(3)]
    for actor, won in zip(actors, (1.0, 2.0, 4.0), strict=True):
        records = {"past:5": Record(wins=won, losses=1.0, version=10, matches=3)}
        matchmaker = MatchmakerState("", {}, CurrentOpponent(), CurrentOpponent(), records=records)
        actor.state = ActorState("", matchmaker)
    opened, _ = source(*actors)
    opened.publish(WEIGHTS, 1)
    assert actors[0].news is None
    opened.tell(OpponentNews(members=("main@u00000005",)))
    actors[2].state = ActorState("", MatchmakerState("", {}, CurrentOpponent(), CurrentOpponent()))
    opened.publish(WEIGHTS, 2)
    heard = [actor.news for actor in actors]
    assert [news.others.get("past:5") for news in heard if news is not None] == [
        Record(2.0, 1.0, 10, 3),
        Record(1.0, 1.0, 10, 3),
        Record(3.0, 2.0, 10, 6),
    ]
    assert all(news is not None and news.members == ("main@u00000005",) for news in heard)
