"""The learner's side of an actor on a node of a cluster: places it, places it anew when it or its node is lost.

            Ray has found room, the hosts have started        lost, or silent for 30 s
 STARTING ───────────────────────────────────────────► PLAYING ───────────────────────► RESTING ── back-off ──► STARTING
     └── lost, or its node may not play ─────────────────────────────────────────────────►┘
                after `fleet.failures_in_a_row` failures without a part between them: TrainingError

A lost node is no failure of the actor: it waits for room on another one. What carries the messages is a `Link`.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus import errors, files
from ludus.actors import cluster, log_relay, resolved
from ludus.actors.actor import part_layout
from ludus.actors.control import ActorFailed, LogMessage, PastSelves, TellOpponents
from ludus.actors.in_flight import ActorState
from ludus.actors.links import Bytes, Cluster, Link, LostError
from ludus.actors.node_messages import (
    BeginOnNode,
    HostsReady,
    NodeMessage,
    NodeReady,
    NodeReport,
    PartFilled,
    PartReleased,
    SavedOnNode,
    SaveOnNode,
)
from ludus.actors.resolved import ResolvedRun
from ludus.actors.supervised import AWAY_S, TRANSIENT, ActorPhase
from ludus.config import seed_streams
from ludus.data.probing import Described
from ludus.errors import LudusError, TrainingError
from ludus.league.matchmaking import OpponentNews
from ludus.metrics import accounts, names
from ludus.metrics.accounts import MatchAccount
from ludus.metrics.core import Metrics
from ludus.processes.restarts import Restarts
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

SILENCE_S = 30.0  # a node answers every second; an actor that sends nothing for this long is lost
GRACE_S = 5.0  # after a pause of this process: time for the answers that came meanwhile to be read
STOP_S = 10.0  # time for an actor and its hosts to exit by themselves
# counters of actors that are also counted for their node
OF_NODES = {names.DECISIONS: names.NODE_DECISIONS, names.HOSTS_RESTARTS: names.NODE_HOST_RESTARTS}
log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Part:
    block: Bytes
    state: ActorState
    link: Link  # that of the actor which has filled it


class RemoteActor:
    """Implements `ActorPort` with an actor on whichever node of a cluster has room for it."""

    def __init__(
        self,
        run: ResolvedRun,
        nodes: Cluster,
        game: Described,
        metrics: Metrics,
        *,
        past: Sequence[int],
        state: ActorState | None,
        matches: Bytes | None = None,
        under_way: int = 0,
        seeded: int | None = None,
    ) -> None:
        """`run` is that of one actor (`ResolvedRun.for_actor`), and `game` what a host of this machine describes.
        `matches` is a file with saved matches, of which `under_way` were running. Seeds are derived from `seeded`, by
        default from the version that the run continues from."""
        self.index, self.hosts = run.share.actor, run.share.hosts
        self._seeded = run.version if seeded is None else seeded
        self.phase = ActorPhase.RESTING
        self.state = state
        self.node: NodeReady | None = None
        self._run, self._nodes, self._game, self._metrics = run, nodes, game, metrics
        self._past, self._matches = list(past), matches
        self._news: OpponentNews | None = None
        self._ledger = MatchAccount(under_way)
        if under_way:
            metrics.set(names.UNDER_WAY, under_way, self.index)
        self._begun_with = under_way
        self._restarts = Restarts(run.config.fleet)
        self._losses = 0  # links that were lost
        self._lost_on = ""  # the node of the latest loss
        self._has_played = False
        self._layout = part_layout(run, game.spec)
        self._part = self._layout.allocate()
        self._parts: deque[_Part] = deque()
        self._link: Link | None = None
        self._version: int | None = None  # of the newest weights; None until `start`
        self._there: set[int] = set()  # past selves whose files the node has
        self._taken_of: Link | None = None
        self._recorded = 0
        self._due_s = 0.0
        self._path: Path | None = None
        self._saves = 0
        self._saved: SavedOnNode | None = None
        self._saved_bytes: Bytes | None = None
        self._saving: Link | None = None
        self._polled_s = time.monotonic()
        self._grace_s = 0.0  # silence is no loss before this time: this process was busy or stopped
        self._answers = True  # False if the actor did not answer the last request to save and has sent nothing since
        self._error: LudusError | None = None

    @property
    def spec(self) -> GameSpec | None:
        return self._game.spec

    @property
    def playing(self) -> bool:
        return self.phase is ActorPhase.PLAYING

    @property
    def filled(self) -> int:
        return len(self._parts)

    @property
    def under_way(self) -> int:
        return self._ledger.matches

    def open(self) -> None:
        """Do nothing: `start` places the actor."""

    def start(self, weights: NDArray[np.float32], version: int) -> None:
        self.publish(weights, version)

    def poll(self, timeout_s: float) -> bool:
        """Handle one message, or place the actor if that is due. Returns False if neither happened in time."""
        if self._error is not None:
            raise self._error
        self._nodes.check(self._metrics, self.index, playing=self.playing)
        now_s = time.monotonic()
        if now_s > self._polled_s + AWAY_S:
            self._grace_s = now_s + GRACE_S
        self._polled_s = now_s
        if self._link is None:
            return self._place_where_due(timeout_s)
        try:
            received = self._link.receive(timeout_s)
            if received is None:
                self._refuse_silence(self._link)
                return False
            self._take_in(*received)
        except LostError as lost:
            self._lose(str(lost), node_lost=lost.node_lost)
        return True

    def fileno(self) -> int | None:
        return None if self._link is None else self._link.fileno()

    def take(self) -> SegmentBatch:
        part = self._parts.popleft()
        self._part.put_from(0, self._layout.over(part.block.data), slice(None))
        self.state, self._taken_of = part.state, part.link
        return self._part

    def release(self) -> None:
        if self._link is not None and self._taken_of is self._link:
            self._link.send(PartReleased())
        self._taken_of = None

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        self._version = version
        self._nodes.publish(weights, version)
        if self._link is not None:
            self._link.publish()

    def set_past(self, versions: Sequence[int]) -> None:
        """Set the past selves that may play. An actor that is still starting gets the list when it is ready."""
        self._past = list(versions)
        self._nodes.retain(versions)
        if self.playing:
            self._send_past()

    def tell(self, news: OpponentNews) -> None:
        """Say what the actor's matchmaker must know. An actor that is still starting is told when it is ready."""
        self._news = news
        if self.playing and self._link is not None:
            self._link.send(TellOpponents(news), ())

    def begin_save(self, path: Path) -> None:
        """Ask the actor for its matches, unless it did not answer the last time and has sent nothing since.

        Raises TrainingError if it is not playing, and the error that it reports.
        """
        while self.poll(0):
            pass
        if self._link is None or not self.playing:
            raise TrainingError(f"actor {self.index} was lost and does not play yet")
        self._path, self._saving, self._saved = path, self._link if self._answers else None, None
        if self._saving is not None:
            self._saves += 1
            self._link.send(SaveOnNode(self._saves))

    @property
    def saving(self) -> bool:
        return self._saving is not None and self._saving is self._link and self._saved is None

    def end_save(self) -> bool:
        (link, self._saving), saved, data = (self._saving, None), self._saved, self._saved_bytes
        self._saved_bytes = None
        if link is None:
            return False
        if link is not self._link:
            raise TrainingError(f"actor {self.index} was lost while it saved its matches")
        if saved is None:
            self._answers = False
        if saved is None or saved.error:
            if saved is not None:
                log.warning("%s cannot save its matches: %s", self._name, saved.error)
            return False
        if data is None or self._path is None:
            return False
        files.write(self._path, data.tobytes(), durable=True)
        return True

    def give_up(self) -> None:
        """Count its matches as lost and end it. Its parts stay valid."""
        self._count_lost(accounts.ACTOR)
        self.close()

    def close(self) -> None:
        link, self._link = self._link, None
        playing, self.phase = self.playing, ActorPhase.RESTING
        if link is not None:
            link.end(STOP_S if playing else 0.0)

    @property
    def _name(self) -> str:
        return f"actor {self.index}" + ("" if self.node is None else f" on node {self.node.node.name}")

    def _place_where_due(self, timeout_s: float) -> bool:
        left_s = self._due_s - time.monotonic()
        if self._version is None or left_s > 0 or not self._nodes.answers:
            time.sleep(timeout_s if left_s <= 0 else min(timeout_s, left_s))
            return False
        if self._restarts.started():
            self._metrics.add(names.ACTOR_RESTARTS)
            if self._lost_on:
                self._metrics.add(names.NODE_ACTOR_RESTARTS(self._lost_on))
        first = not self._has_played
        begin = BeginOnNode(
            resolved.pack(self._run),
            self._seeded if first else seed_streams.restarted(self._version, self._losses),
            self._past,
            self._parts[-1].state if self._parts else self.state,
            self._begun_with if first else 0,
            self._game.spec.fingerprint,
        )
        self._link = self._nodes.place(self.index, self._run.share.hosts, begin, self._matches, self._past)
        self._there, self._recorded, self._answers = set(self._past), 0, True
        self.phase, self.node = ActorPhase.STARTING, None
        self._link.publish()
        return True

    def _refuse_silence(self, link: Link) -> None:
        """Raise LostError if the node has been silent for too long. One that waits for room is not silent."""
        now_s = time.monotonic()
        if self.node is not None and now_s > max(link.heard_s() + SILENCE_S, self._grace_s):
            link.end(0.0)
            raise LostError(f"sent nothing for {SILENCE_S:g} s", node_lost=True)

    def _take_in(self, message: NodeMessage, array: Bytes | None) -> None:
        self._answers = True
        if isinstance(message, PartFilled):
            self._restarts.recovered()
            if array is None:
                self._count_part_lost()
            elif self._link is not None:
                self._parts.append(_Part(array, message.state, self._link))
        elif isinstance(message, NodeReport):
            self._report(message)
        elif isinstance(message, SavedOnNode):
            if message.number == self._saves:
                self._saved, self._saved_bytes = message, array
        elif isinstance(message, LogMessage):
            self._show(message)
        elif isinstance(message, NodeReady):
            self._meet(message)
        elif isinstance(message, HostsReady):
            self._compare_game(message)
        elif isinstance(message, ActorFailed):
            self._hear_failure(message)

    def _report(self, report: NodeReport) -> None:
        self._recorded = report.recorded
        self._ledger.count(report.delta)
        self._metrics.merge(report.delta, self.index)
        if self.node is not None:
            for name, of_node in OF_NODES.items():
                if count := report.delta.counters.get(name):
                    self._metrics.add(of_node(self.node.node.name), count)
        if self.phase is not ActorPhase.STARTING:  # the node starts its process again by itself
            self.phase = ActorPhase.PLAYING if report.playing else ActorPhase.RESTING

    def _show(self, line: LogMessage) -> None:
        where = "a node" if self.node is None else f"node {self.node.node.name}"
        log_relay.show(msgspec.structs.replace(line, text=f"{where}: {line.text}"))

    def _meet(self, ready: NodeReady) -> None:
        self.node = ready
        difference = cluster.difference(ready.versions, self._nodes.versions)
        if difference:
            self._refuse_node(difference)
            return
        log.info("%s (pid %d) starts %d hosts", self._name, ready.pid, self._run.share.hosts)

    def _compare_game(self, hosts: HostsReady) -> None:
        """Let the actor play if its hosts play the same game, by the same engine, as this machine's."""
        ours, facts = self._game.spec, {name: str(value) for name, value in self._game.engine.items()}
        different = sorted(name for name in facts.keys() | hosts.facts if facts.get(name) != hosts.facts.get(name))
        if hosts.game != ours.fingerprint:
            self._refuse_node(
                f"its hosts describe another game ({hosts.name}, schema {hosts.schema}) than this machine's "
                f"({ours.name}, schema {ours.schema})"
            )
        elif different:
            name = different[0]
            self._refuse_node(
                f"its hosts have another engine: {name} is {hosts.facts.get(name)}, on this machine {facts.get(name)}"
            )
        else:
            self.phase, self._has_played, self._matches = ActorPhase.PLAYING, True, None
            self._send_past()
            if self._news is not None:
                self.tell(self._news)

    def _send_past(self) -> None:
        assert self._link is not None
        self._link.send(PastSelves(self._past), [version for version in self._past if version not in self._there])
        self._there = set(self._past)

    def _refuse_node(self, why: str) -> None:
        assert self.node is not None
        self._nodes.refuse(self.node, why)
        raise LostError(f"may not play there: {why}", node_lost=True)

    def _hear_failure(self, failed: ActorFailed) -> None:
        kind = getattr(errors, failed.kind, None) if failed.kind else None
        if not (isinstance(kind, type) and issubclass(kind, LudusError)):
            kind = TrainingError
        if not issubclass(kind, (TrainingError, *TRANSIENT)):
            self._error = kind(f"{self._name}: {failed.message}")
            raise self._error
        raise LostError(f"failed: {failed.message}", node_lost=False)

    def _lose(self, detail: str, *, node_lost: bool) -> None:
        """End the actor and schedule its next start. Raises TrainingError after too many failures in a row."""
        name, link = self._name, self._link
        loss = self._count_lost(accounts.NODE if node_lost else accounts.ACTOR)
        self._lost_on = "" if self.node is None else self.node.node.name
        self._link, self.phase, self.node = None, ActorPhase.RESTING, None
        self._losses += 1
        if link is not None:
            link.end(0.0)
        delay_s: float | None = self._run.config.fleet.backoff_s
        if not node_lost:
            delay_s = self._restarts.failed(detail)
        if delay_s is None:
            self._error = TrainingError(f"{name} {detail}")
            raise self._error
        self._due_s = time.monotonic() + delay_s
        log.warning("%s %s; %splacing it anew with new matches", name, detail, loss)

    def _count_lost(self, reason: str) -> str:
        """Count the matches and decisions that are lost with a process, and return a text for the log."""
        if self._link is None or not self._has_played:
            return ""
        matches = self._ledger.void(self._metrics, reason, self.index)
        self._metrics.add(names.ACTOR_LOST, self._recorded)
        self._metrics.set(names.HOSTS_ALIVE, 0, self.index)
        return f"{matches} matches and about {self._recorded} recorded decisions are lost; "

    def _count_part_lost(self) -> None:
        self._metrics.add(names.ACTOR_LOST, self._layout.segments * self._layout.length)
        log.warning("a part of %s was lost on its way", self._name)
