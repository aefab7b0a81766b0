"""The actor: plays matches on a fleet with the current policies and records segments for the learner."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from ludus.actors import division, in_flight
from ludus.actors.in_flight import ActorState, InFlight, InFlightHeader
from ludus.actors.opponent_policies import OpponentPolicies
from ludus.actors.resolved import ResolvedRun
from ludus.config.settings import RunConfig
from ludus.errors import CheckpointError
from ludus.fleet import saved_state
from ludus.fleet.fleet import HostFleet
from ludus.fleet.interface import Fleet
from ludus.fleet.saved_state import FleetState
from ludus.league.matchmaking import MEMBER_PREFIX, PAST_PREFIX, SCRIPTED, OpponentNews, SharedMatchmaker
from ludus.league.pool import Pool
from ludus.learner import algorithms
from ludus.metrics import accounts, names
from ludus.metrics.core import Delta, Metrics
from ludus.metrics.observer import ALONE
from ludus.policies.bank import LEARNER, PolicyBank
from ludus.policies.checkpoints.checkpoint import MATCHES, encode_generator, restore_generator
from ludus.policies.checkpoints.read_errors import BAD_BYTES, reading, reason
from ludus.policies.nets.recurrence import state_size
from ludus.policies.network import NetPolicy
from ludus.rollout.interleaved import InterleavedSegments
from ludus.rollout.loop import Rollout
from ludus.rollout.segments import SegmentLayout, Segments
from ludus.spec import GameSpec
from ludus.types import Policy, Resumable, SegmentBatch

log = logging.getLogger(__name__)
HOSTS_SHOWN = 64  # hosts whose own numbers are reported, so that progress.csv does not grow without bounds


class Actor:
    """Plays matches on `fleet` and fills batches with the learner's decisions. The caller opens and closes the fleet.

    Random generators are seeded with `version`, so that a run that continues from a checkpoint with new matches does
    not repeat earlier random numbers.
    """

    def __init__(
        self,
        fleet: Fleet,
        run: ResolvedRun,
        pool: Pool,
        *,
        version: int = 0,
    ) -> None:
        config = run.config
        torch.set_num_threads(config.policy.threads)
        self.spec = fleet.spec
        self.metrics = Metrics("actor")
        self._fleet = fleet
        self._run = run
        self._config = config
        self._pool = pool
        self._seeded = version
        self._generator = torch.Generator().manual_seed(run.actor_seed("sampling", version))
        self._opponents = OpponentPolicies(run, fleet.spec, pool, self._generator, seeded=version, rows=fleet.rows)
        learner = self._opponents.policy(self._opponents.new_net(), version)
        self._matchmaker = SharedMatchmaker(
            config.opponents,
            teams=fleet.spec.teams,
            scripted=tuple(run.game.scripted),
            seed=run.actor_seed("matchmaking", version),
            load=self._member_plays,
        )
        self._matchmaker.version = version
        self._past: dict[str, int] = {}  # past selves that may play, by name
        self._damaged: set[str] = set()  # past selves and members that cannot be read
        self._bank = PolicyBank(learner, self._matchmaker, rows=fleet.rows, seats=fleet.spec.seats)
        for name in self._matchmaker.scripted:
            self._bank.enter(SCRIPTED + name, self._opponents.scripted(name))
        segments = (
            InterleavedSegments(fleet.spec, fleet.rows, config.rollout.segment)
            if algorithms.find(config.learner.algorithm).interleaved
            else Segments(fleet.spec, fleet.rows, config.rollout.segment, state_size(config.policy.recurrent))
        )
        self._rollout = Rollout(fleet, self._bank, segments, self.metrics, lockstep=config.mode == "serial")

    @property
    def layout(self) -> SegmentLayout:
        """The layout of the batch parts that `play` fills; of whole batches if the run has one actor."""
        return part_layout(self._run, self.spec)

    @property
    def version(self) -> int:
        """The policy version (number of updates) of the weights that the learner's seats play with."""
        return self._bank.learner.version

    @property
    def floats(self) -> int:
        """The number of weights of the net."""
        return self._bank.learner.weights.vector.numel()

    @property
    def facts(self) -> dict[str, str]:
        """Facts about the engine that the hosts report, such as its version."""
        engine = self._fleet.engine if isinstance(self._fleet, HostFleet) else {}
        return {name: str(value) for name, value in engine.items()}

    @property
    def recorded(self) -> int:
        """The number of recorded decisions that are not in a full batch yet."""
        return self._rollout.recorded

    def adopt(self, weights: NDArray[np.float32], version: int) -> None:
        """Play with these weights of the learner, of policy version `version`, from now on."""
        self._bank.learner.adopt(weights, version)
        self._matchmaker.version = version

    def play(self, batch: SegmentBatch, stopped: Callable[[], bool]) -> bool:
        """Play until the batch is full and return True, or return False as soon as `stopped()` is True."""
        return self._rollout.play(batch, stopped)

    def play_on(self, stopped: Callable[[], bool]) -> None:
        """Play while no batch buffer is free, until `stopped()` is True or a segment is complete."""
        self._rollout.play_on(stopped)

    def set_past(self, versions: Sequence[int]) -> None:
        """Set the past selves that may play: load those that are not loaded yet, and remove all others."""
        self._enter_past(versions)
        self._bank.retire(name for name in self._bank.names if name.startswith(PAST_PREFIX) and name not in self._past)

    def tell(self, news: OpponentNews) -> None:
        """Take in which members of the league may play, and the results of other actors."""
        self._matchmaker.tell(news)

    def state(self) -> ActorState:
        """Return the state of the sampling generator and of the matchmaker, and the recent mean reward."""
        return ActorState(encode_generator(self._generator), self._matchmaker.state(), self._rollout.recent_reward)

    def restore(self, state: ActorState) -> None:
        """Restore a `state`. Call after `set_past`. Raises CheckpointError if it is damaged."""
        restore_generator(self._generator, state.sampling)
        with reading("the matchmaker's state", "cannot restore"):
            self._matchmaker.restore(state.matchmaker)
        self._rollout.recent_reward = state.reward

    def save(self, path: Path, unlearned: Sequence[SegmentBatch] = ()) -> bool:
        """Write the running matches to `path`, with the full batches that the learner has not trained on (`unlearned`).

        Returns False if this kind of fleet cannot save its matches. Raises OSError if writing fails.
        """
        saved = self.in_flight(unlearned)
        if saved is not None:
            in_flight.write(path, saved)
        return saved is not None

    def in_flight(self, unlearned: Sequence[SegmentBatch] = ()) -> InFlight | None:
        """Return the running matches with everything that is needed to continue them exactly.

        Returns None if this kind of fleet cannot save its matches. The actor's own state does not change.
        """
        fleet = self._fleet.saved_state()
        if fleet is None:
            return None
        fleet_note, fleet_arrays = saved_state.pack(fleet)
        policies = {name: self._bank.policy(name) for name in self._bank.names}
        note = InFlightHeader(
            self._seeded,
            self.spec.fingerprint,
            self._config.rollout.segment,
            self.state(),
            {name: policy.state() for name, policy in policies.items() if isinstance(policy, Resumable)},
            self._bank.state(),
            fleet_note,
            self._run.share.first_host,
            self._run.hosts,
        )
        retired = {
            name.replace(":", "."): policy.weights.numpy()
            for name, policy in policies.items()
            if name.startswith(PAST_PREFIX) and name not in self._past and isinstance(policy, NetPolicy)
        }
        arrays = {f"fleet.{name}": array for name, array in fleet_arrays.items()}
        arrays |= {f"rollout.{name}": array for name, array in self._rollout.state(unlearned).items()}
        hidden_states = self._bank.hidden_states()
        if hidden_states is not None:
            arrays["bank.hidden_state"] = hidden_states
        return InFlight(note, {**arrays, **retired})

    def resume(self, saved: InFlight, versions: Sequence[int]) -> None:
        """Continue the `saved` matches exactly. `versions` are the past selves that may play from now on.

        The fleet must have been opened with `saved.fleet_state()`. Call this instead of `set_past` and `restore`.
        """
        note = saved.note
        policies = {
            name: self._opponents.by_name(name, saved.arrays)
            for name in note.bank.policies
            if name is not None and name != LEARNER
        }
        for name, policy_state in note.scripted.items():
            policy = policies.get(name)
            if isinstance(policy, Resumable):
                policy.restore(policy_state)
        self._bank.restore(note.bank, policies)
        if self._bank.learner.states is not None:
            self._bank.restore_hidden_states(saved.arrays["bank.hidden_state"])
        for name in self._matchmaker.scripted:
            if SCRIPTED + name not in policies:
                self._bank.enter(SCRIPTED + name, self._opponents.scripted(name))
        self._enter_past(versions)
        self.restore(note.actor)
        self._rollout.restore(saved.arrays_of("rollout."))

    def drain(self) -> Delta:
        """Return the metrics that were collected since the last call."""
        health = self._fleet.health
        self._rollout.count_matches()
        self.metrics.set(names.HOSTS_ALIVE, health.alive)
        self.metrics.set(names.HOSTS_GIVEN_UP, health.given_up)
        self.metrics.set(names.HOSTS_TOTAL, self._fleet.hosts)
        self.metrics.grow(names.HOSTS_RESTARTS, health.restarts)
        for host, busy in enumerate(health.busy[:HOSTS_SHOWN]):
            if math.isfinite(busy):
                self.metrics.set(names.HOST_BUSY(str(host)), busy)
        for opponent, rate in self._matchmaker.rates.items():
            if opponent != ALONE or rate.score != 0.5:  # games that nobody can win score every match 0.5
                self.metrics.set(names.TRAIN_WIN_RATE(opponent), rate.score)
        self.metrics.merge_times(self._fleet.take_times())
        return self.metrics.drain()

    def _enter_past(self, versions: Sequence[int]) -> None:
        """Load these past selves and tell the matchmaker about them. A past self is left out if its file is damaged."""
        self._past = {}
        for version in versions:
            name = f"{PAST_PREFIX}{version}"
            if name not in self._bank.names and not self._load_past(name, version):
                continue
            self._past[name] = version
        self._matchmaker.set_past(list(self._past.values()))

    def _load_past(self, name: str, version: int) -> bool:
        return self._enter(name, lambda: self._opponents.past(version), "past self")

    def _member_plays(self, member: str) -> bool:
        """Load a member of the league, unless it plays already, and remove those that do not play any more. Returns
        False if it cannot be read."""
        name = MEMBER_PREFIX + member
        if name in self._bank.names:
            return True
        if not self._enter(name, lambda: self._opponents.member(member), "member of the league"):
            return False
        self._bank.retire(each for each in self._bank.names if each.startswith(MEMBER_PREFIX) and each != name)
        return True

    def _enter(self, name: str, load: Callable[[], Policy], what: str) -> bool:
        if name in self._damaged:
            return False
        try:
            self._bank.enter(name, load())
        except CheckpointError as error:
            self._damaged.add(name)
            log.warning("%s; the run goes on without this %s", error, what)
            return False
        return True


@contextmanager
def open_actor(
    run: ResolvedRun,
    log_dir: Path,
    pool: Pool,
    *,
    version: int,
    past: Sequence[int],
    state: ActorState | None,
    saved: InFlight | None,
) -> Iterator[Actor]:
    """Start hosts and yield an actor that continues the `saved` matches.

    If `saved` is None or does not fit this run, the actor begins new matches. It then restores the random generators of
    `state`, if that is given.
    """
    if saved is not None:
        seeded = saved.note.seeded
        with open_fleet(run, log_dir, seeded, saved.fleet_state()) as fleet:
            actor = Actor(fleet, run, pool, version=seeded)
            if _resumed(actor, saved, past, state):
                yield actor
                return
    with open_fleet(run, log_dir, version) as fleet:
        actor = Actor(fleet, run, pool, version=version)
        actor.set_past(past)
        if state is not None:
            actor.restore(state)
        if saved is not None:
            accounts.begin_anew(actor.metrics, len(saved.note.bank.pairings))
        yield actor


def _resumed(actor: Actor, saved: InFlight, past: Sequence[int], state: ActorState | None) -> bool:
    """Continue the saved matches. Returns False, and logs the reason, if they do not fit this run."""
    if saved.note.game != actor.spec.fingerprint:  # the game has changed: restoring the net raises the error later
        actor.set_past(past)
        if state is not None:
            actor.restore(state)
        return True
    try:
        actor.resume(saved, past)
    except BAD_BYTES as error:
        log.warning("%s does not fit this run (%s); matches begin anew", MATCHES, reason(error))
        return False
    return True


def layout_of(config: RunConfig, spec: GameSpec, parts: int = 1) -> SegmentLayout:
    """Return the layout of the batches of a run, or of each part if `parts` of them make a batch."""
    return SegmentLayout(
        spec,
        division.segments_of(config) // parts,
        config.rollout.segment,
        state_size(config.policy.recurrent),
        interleaved=algorithms.find(config.learner.algorithm).interleaved,
    )


def part_layout(run: ResolvedRun, spec: GameSpec) -> SegmentLayout:
    """Return the layout of the batch parts that the actors of a run fill."""
    return layout_of(run.config, spec, run.actors.batch_parts)


def open_fleet(run: ResolvedRun, log_dir: Path, version: int, saved: FleetState | None = None) -> HostFleet:
    """Start the hosts of a run, or of one actor of it, and return them as a fleet.

    If `saved` is given, the hosts continue its matches. Otherwise the seeds of the matches are derived from `version`,
    so that a resumed run does not repeat matches.
    """
    return HostFleet(
        run.game.command(run.options),
        run.config.fleet,
        options=msgspec.to_builtins(run.options),
        seed=run.seed("fleet", version),
        log_dir=log_dir,
        hosts=run.share.hosts,
        saved_state=saved,
        usable_cores=run.machine.cores,
        first_host=run.share.first_host,
        run_hosts=run.hosts,
    )
