"""What every implementation of `ActorPort` does: an actor of this process, in a child process, on a node of Ray."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import clusters
from tests.running import PATIENCE_S, small_run

from ludus.actors import in_flight, ray_cluster
from ludus.actors.actor import open_actor, part_layout
from ludus.actors.cluster_actor import RemoteActor
from ludus.actors.inline import InlineActor
from ludus.actors.port import ActorPort
from ludus.actors.ray_cluster import RayCluster
from ludus.actors.resolved import ResolvedRun, resolve
from ludus.actors.supervised import SupervisedActor
from ludus.config.settings import ActorsConfig, FleetConfig, RunConfig
from ludus.data import probing
from ludus.games.registry import nets_of
from ludus.league.pool import Pool
from ludus.metrics import accounts, names
from ludus.metrics.core import Metrics
from ludus.policies import nets
from ludus.policies.weights import FlatWeights

VERSION = 3
Opened = tuple[ActorPort, ResolvedRun, Metrics]


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayCluster]:
    """A Ray cluster with one node."""
    with clusters.started(1) as cluster, ray_cluster.connected(cluster.address) as nodes:
        yield nodes


@pytest.fixture(params=["inline", "child", "node"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """An actor whose hosts have started, and its run and metrics."""
    metrics = Metrics()
    with ExitStack() as stack:
        if request.param == "node":
            actor, run = _on_node(request.getfixturevalue("nodes"), tmp_path, metrics)
        else:
            actor, run = _actor(request.param, tmp_path, metrics, stack)
        stack.callback(actor.close)
        actor.open()
        until(actor, lambda: actor.spec is not None)
        yield actor, run, metrics


def _actor(kind: str, folder: Path, metrics: Metrics, stack: ExitStack) -> tuple[ActorPort, ResolvedRun]:
    if kind == "inline":
        run, pool = resolve(_config("serial", 1)), Pool(folder / "pool", 4)
        actor = stack.enter_context(open_actor(run, folder / "logs", pool, version=0, past=[], state=None, saved=None))
        return InlineActor(actor, metrics), run
    run = resolve(_config("overlapped", 2)).for_actor(1)  # the second of two
    return SupervisedActor(run, folder, metrics, pool=[], state=None), run


def _on_node(nodes: RayCluster, folder: Path, metrics: Metrics) -> tuple[ActorPort, ResolvedRun]:
    run = replace(resolve(_config("overlapped", 2)), cluster="auto").for_actor(1)
    game = probing.describe(run.game, run.options, folder / "asked")
    return RemoteActor(run, nodes, game, metrics, past=[], state=None), run


def _config(mode: str, actors: int) -> RunConfig:
    return small_run(
        mode=mode,
        options={"game": "nim"},
        fleet=FleetConfig(hosts=actors, matches=4, backoff_s=0.01),
        actors=ActorsConfig(count=actors),
    )


def until(actor: ActorPort, holds: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s
        actor.poll(0.05)


def weights_of(actor: ActorPort, run: ResolvedRun) -> NDArray[np.float32]:
    assert actor.spec is not None
    net = nets.build(actor.spec, run.config.policy, run.game.net, seed=1, game_nets=nets_of(run.game))
    return FlatWeights(net).numpy()


def test_parts_have_the_layout_of_the_run_and_the_version_that_was_published(opened: Opened) -> None:
    actor, run, _ = opened
    assert actor.spec is not None
    assert actor.playing or actor.filled == 0
    actor.start(weights_of(actor, run), VERSION)
    until(actor, lambda: actor.filled > 0)
    part = actor.take()
    layout = part_layout(run, actor.spec)
    assert part.action.shape == (layout.segments, layout.length)
    assert (part.version == VERSION).all()
    actor.release()
    actor.publish(weights_of(actor, run), VERSION + 1)
    for _ in range(4):  # those that were being filled have decisions of both
        until(actor, lambda: actor.filled > 0)
        versions = actor.take().version.copy()
        actor.release()
        assert set(np.unique(versions)) <= {VERSION, VERSION + 1}
    assert (versions == VERSION + 1).any()


def test_a_part_stays_the_same_until_it_is_released(opened: Opened) -> None:
    actor, run, _ = opened
    actor.start(weights_of(actor, run), 0)
    until(actor, lambda: actor.filled > 0)
    part = actor.take()
    before = part.take(np.arange(len(part.action)))  # a copy
    for _ in range(10):
        actor.poll(0.05)
    assert all(np.array_equal(array, getattr(part, name)) for name, array in before.arrays().items())


def test_the_state_is_that_of_the_part_that_was_taken(opened: Opened) -> None:
    actor, run, _ = opened
    actor.start(weights_of(actor, run), 0)
    until(actor, lambda: actor.filled > 0)
    actor.take()
    assert actor.state is not None
    assert actor.state.reward[0] > 0


def test_saved_matches_are_those_under_way(opened: Opened, tmp_path: Path) -> None:
    actor, run, metrics = opened
    actor.start(weights_of(actor, run), 0)
    until(actor, lambda: actor.filled > 0)
    path = tmp_path / "matches"
    actor.begin_save(path)
    until(actor, lambda: not actor.saving)
    assert actor.end_save()
    saved = in_flight.decode(path.read_bytes())
    running = len(saved.note.bank.pairings)
    assert saved.note.first_host == run.share.first_host
    assert running == actor.under_way == accounts.under_way(metrics.counters()) == metrics.snapshot()[names.UNDER_WAY]


def test_a_file_that_cannot_be_written_is_an_error_and_the_actor_plays_on(opened: Opened, tmp_path: Path) -> None:
    actor, run, _ = opened
    actor.start(weights_of(actor, run), 0)
    until(actor, lambda: actor.filled > 0)
    actor.begin_save(tmp_path / "missing" / "matches")
    until(actor, lambda: not actor.saving)
    with pytest.raises(OSError, match="No such file"):
        actor.end_save()
    actor.take()
    actor.release()
    until(actor, lambda: actor.filled > 0)


def test_polling_without_time_collects_metrics_only(opened: Opened) -> None:
    actor, run, metrics = opened
    actor.start(weights_of(actor, run), 0)
    until(actor, lambda: metrics.counter(names.DECISIONS) > 0)
    assert metrics.snapshot()[names.HOSTS_TOTAL] == 1
