"""Starts the actors of a run, from a checkpoint if there is one."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ludus.actors import cluster, in_flight, saved_actors
from ludus.actors.actor import open_actor
from ludus.actors.cluster_actor import RemoteActor
from ludus.actors.growth import ClusterGrowth
from ludus.actors.in_flight import ActorState, InFlight
from ludus.actors.inline import InlineActor
from ludus.actors.mixed_source import MixedSource
from ludus.actors.port import ActorPort
from ludus.actors.ray_cluster import RayCluster
from ludus.actors.resolved import ResolvedRun
from ludus.actors.sources import ActorSource
from ludus.actors.supervised import SupervisedActor
from ludus.data import probing
from ludus.data.source import DatasetSource
from ludus.errors import CheckpointError
from ludus.league.pool import Pool
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.policies.checkpoints.checkpoint import State
from ludus.policies.checkpoints.read_errors import reading
from ludus.policies.nets.recurrence import state_size
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

log = logging.getLogger(__name__)
RunSource = ActorSource | DatasetSource | MixedSource


@dataclass(frozen=True, slots=True)
class Origin:
    """The saved state from which one actor continues; empty in a new run."""

    state: ActorState | None = None
    matches: InFlight | None = None  # None: it begins new matches
    path: Path | None = None  # the file of `matches`

    @property
    def under_way(self) -> int:
        """The number of running matches."""
        return 0 if self.matches is None else len(self.matches.note.bank.pairings)


@contextmanager
def open_source(
    run: ResolvedRun, run_dir: Path, metrics: Metrics, nodes: RayCluster | None = None
) -> Iterator[RunSource]:
    """Start the actors of a run, in this process, in processes of their own or on the nodes of a cluster, and yield the
    source of its batches.

    A run that learns from a dataset only has no actors.
    """
    data = run.config.data
    if data.folder and not data.live:
        yield _dataset_source(run, probing.describe(run.game, run.options, run_dir / "logs").spec)
        return
    pool = Pool(run_dir / "pool", run.config.opponents.pool)
    origins, waiting = _origins(run, metrics)
    if run.checkpoint is not None:
        pool.retain(run.checkpoint.state.pool)  # removes past selves that are newer than the checkpoint
    past = pool.versions()
    with ExitStack() as stack:
        actors: Sequence[ActorPort]
        growth: ClusterGrowth | None = None
        if nodes is not None:
            actors, growth = _on_nodes(run, run_dir, metrics, nodes, origins, past)
        elif run.config.mode == "overlapped":
            actors = [
                SupervisedActor(
                    run.for_actor(index),
                    run_dir,
                    metrics,
                    pool=past,
                    state=origin.state,
                    matches=None if origin.matches is None else origin.path,
                    under_way=origin.under_way,
                )
                for index, origin in enumerate(origins)
            ]
        else:
            (origin,) = origins
            actor = stack.enter_context(
                open_actor(
                    run,
                    run_dir / "logs",
                    pool,
                    version=run.version,
                    past=past,
                    state=origin.state,
                    saved=origin.matches,
                )
            )
            actors = [InlineActor(actor, metrics, under_way=origin.under_way)]
        actors_source = ActorSource(
            actors,
            metrics,
            parts=run.actors.batch_parts,
            waiting=waiting,
            half_life=run.config.opponents.half_life,
            more=_none if growth is None else growth.due,
        )
        source = stack.enter_context(actors_source.opened())
        yield MixedSource(source, _dataset_source(run, source.spec), data.live) if data.folder else source


def _on_nodes(
    run: ResolvedRun, run_dir: Path, metrics: Metrics, nodes: RayCluster, origins: Sequence[Origin], past: Sequence[int]
) -> tuple[list[RemoteActor], ClusterGrowth | None]:
    """Return the actors of a run on a cluster, and how it grows, unless the configuration sets its size.

    A host of this machine describes the game that all of them must play.
    """
    game = probing.describe(run.game, run.options, run_dir / "logs" / "asked")
    nodes.past_file = Pool(run_dir / "pool", run.config.opponents.pool).path
    actors = [
        RemoteActor(
            run.for_actor(index),
            nodes,
            game,
            metrics,
            past=past,
            state=origin.state,
            matches=None if origin.path is None else in_flight.of_one_actor(origin.path, run.for_actor(index)),
            under_way=origin.under_way,
        )
        for index, origin in enumerate(origins)
    ]
    return actors, ClusterGrowth(run, nodes, game, metrics, past, actors) if cluster.grows(run.config) else None


def _none(version: int) -> Sequence[ActorPort]:
    return ()


def _dataset_source(run: ResolvedRun, spec: GameSpec) -> DatasetSource:
    """Open the dataset of a run, at the position of its checkpoint if it has one."""
    config = run.config
    saved: Path | list[int] | None = None
    if run.checkpoint is not None and not begins_stage(run.checkpoint.state):
        matches = run.checkpoint.path / checkpoint.MATCHES
        if config.data.live:
            saved = run.checkpoint.state.sampler
        elif checksums.holds(matches):
            saved = matches
    hidden_state = state_size(config.policy.recurrent)
    length = config.rollout.segment if hidden_state else 1  # single decisions are shuffled best
    layout = SegmentLayout(spec, config.learner.decisions // length, length, hidden_state)
    return DatasetSource(config.data, spec, layout, gamma=config.learner.gamma, seed=run.seed("dataset"), saved=saved)


def begins_stage(state: State) -> bool:
    """Return True if a state was saved between two stages, or before the first update of a stage."""
    return state.curriculum is not None and state.curriculum.get("updates") == state.version


def _origins(run: ResolvedRun, metrics: Metrics) -> tuple[list[Origin], list[SegmentBatch]]:
    """Return what each actor continues from, and the parts that wait for the rest of their batch.

    Matches that cannot be read are counted and logged once for each reason: new matches begin.
    """
    actors = run.actors.actors
    if run.checkpoint is None:
        return [Origin()] * actors, []
    path, saved = run.checkpoint.path / checkpoint.MATCHES, run.checkpoint.state
    with reading(run.checkpoint.path / checkpoint.STATE):
        notes = (saved.actor, *saved.other_actors)
        states = [None if note is None else msgspec.convert(note, ActorState) for note in notes]
    states += [None] * (actors - len(states))
    if begins_stage(saved) and not checksums.holds(path):
        return [Origin(state) for state in states[:actors]], []
    origins, reasons = [], dict[str, None]()
    waiting: list[SegmentBatch] = []
    for index, state in enumerate(states[:actors]):
        try:
            origins.append(Origin(state, in_flight.read(path, run.for_actor(index)), path))
        except CheckpointError as error:
            reasons[str(error)] = None
            origins.append(Origin(state))
    if any(origin.matches is not None for origin in origins):
        try:
            waiting = saved_actors.read_waiting(path, run)
        except CheckpointError as error:
            reasons[str(error)] = None
    if reasons:
        metrics.add(names.BEGUN_ANEW)
    for why in reasons:
        log.warning("%s; matches begin anew", why)
    return origins, waiting
