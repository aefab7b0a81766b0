"""Adds actors to a run when nodes join its cluster."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from ludus.actors import cluster
from ludus.actors.cluster_actor import RemoteActor
from ludus.actors.division import ActorShare
from ludus.actors.links import Cluster
from ludus.actors.resolved import ResolvedRun
from ludus.config import seed_streams
from ludus.data.probing import Described
from ludus.metrics import names
from ludus.metrics.core import Metrics

ADDED = 1 << 16  # apart from all restarts of actors, so that no two of them have the same seeds
log = logging.getLogger(__name__)


class ClusterGrowth:
    """Makes actors for the free CPUs of nodes that have joined, up to `cluster.most_actors`.

    Actors that wait for a node, because theirs was lost, come first.
    """

    def __init__(
        self,
        run: ResolvedRun,
        nodes: Cluster,
        game: Described,
        metrics: Metrics,
        past: Sequence[int],
        actors: Sequence[RemoteActor],
    ) -> None:
        """`actors` are those that the run begins with, `game` is what their hosts must play."""
        self._run, self._nodes, self._game, self._metrics = run, nodes, game, metrics
        self._past, self._actors = past, list(actors)
        self._most = cluster.most_actors(run.actors.batch_parts)
        self._full = False

    def due(self, version: int) -> list[RemoteActor]:
        """Return new actors for the CPUs that are free now. Their seeds are derived from the policy version."""
        joined = self._nodes.joined
        if not joined or self._full:
            return []
        used = [(actor.node.node.id, actor.hosts) for actor in self._actors if actor.node is not None]
        waiting = [actor.hosts for actor in self._actors if actor.node is None]
        free = [node.cpus - sum(hosts for id, hosts in used if id == node.id) for node in joined]
        each = max(actor.hosts for actor in self._actors)
        added = [
            self._add(hosts, version)
            for hosts in cluster.additions(free, waiting, each=each, room=self._most - len(self._actors))
        ]
        if added:
            self._metrics.set(names.CORES, sum(actor.hosts for actor in self._actors))
        if len(self._actors) >= self._most:
            self._full = True
            log.info(
                "the run has %d actors for the %d parts of a batch; nodes that join now add none (%s)",
                len(self._actors),
                self._run.actors.batch_parts,
                cluster.WHERE,
            )
        return added

    def _add(self, hosts: int, version: int) -> RemoteActor:
        index = len(self._actors)
        share = ActorShare(index, sum(actor.hosts for actor in self._actors), hosts)
        seeded = seed_streams.restarted(version, ADDED + index)
        run = replace(self._run, share=share, checkpoint=None)
        actor = RemoteActor(run, self._nodes, self._game, self._metrics, past=self._past, state=None, seeded=seeded)
        self._actors.append(actor)
        log.info("actor %d with %d hosts is added for nodes that have joined", index, hosts)
        return actor
