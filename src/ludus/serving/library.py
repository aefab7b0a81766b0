"""The policies of a server: loads each when it is first asked, keeps a limited number in memory, adopts new weights."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from ludus.errors import CheckpointError, ConfigError, LudusError, ServingError
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.policies.checkpoints.checkpoint import State
from ludus.policies.checkpoints.read_errors import reading
from ludus.policies.nets import NetFactory
from ludus.policies.network import NetPolicy
from ludus.policies.weights import FlatWeights
from ludus.serving.decision_table import DecisionTable
from ludus.serving.policy_sources import PolicySource, find_source
from ludus.serving.protocol import GameDescription, PolicyDescription, PolicyReport
from ludus.spec import GameSpec
from ludus.suggestions import did_you_mean

log = logging.getLogger(__name__)


class GameLookup(Protocol):
    """The functions of games that the library calls. The module `ludus.games.checkpoint_game` implements it."""

    def nets_for(self, checkpoint_path: Path, spec_name: str, /) -> Mapping[str, NetFactory]:
        """Return the nets that the game of a checkpoint brings, by name."""
        ...

    def local_options(self, checkpoint_path: Path, spec_name: str, /) -> frozenset[str]:
        """Return the names of the options that mean something on this machine only."""
        ...


@dataclass(slots=True)
class ServedPolicy:
    """One policy that clients ask. Its slots and hidden states survive while its net is out of memory."""

    name: str
    source: PolicySource
    pinned: str  # the version that the clients ask for; empty: that of the source
    path: Path  # of the checkpoint
    state: State
    spec: GameSpec
    slots: DecisionTable
    greedy: bool
    options: dict[str, Any]  # Any: the game's own; those that differ between machines are left out
    sha256: str  # of the checkpoint's model
    policy: NetPolicy | None = None  # None: not in memory
    hidden_states: NDArray[np.float32] | None = None  # of all slots, while the net is not in memory
    version: int = 0
    clients: int = 0  # that hold slots
    decisions: int = 0
    reloads: int = 0
    refused_reloads: int = 0
    used: int = 0  # grows with every use of any policy
    floats: list[str] = field(default_factory=list)  # leaves of float32

    def describe(self) -> PolicyDescription:
        """Return the description of the policy that clients receive."""
        note, obs = self.state.game, self.spec.obs
        leaves = [(leaf.name, leaf.dtype, list(leaf.shape), leaf.offset) for leaf in obs.leaves]
        game = GameDescription(
            self.spec.name,
            self.spec.seats,
            self.spec.actions,
            self.spec.schema,
            self.spec.fingerprint,
            obs.nbytes,
            leaves,
            note.layout,
            self.options,
        )
        return PolicyDescription(self.name, self.version, self.slots.recurrent, game, self.sha256)

    def report(self) -> PolicyReport:
        return PolicyReport(
            self.name,
            self.version,
            self.policy is not None,
            self.clients,
            self.slots.used,
            self.decisions,
            self.reloads,
            self.refused_reloads,
            self.greedy,
        )


class PolicyLibrary:
    """The policies of a server, by the name that clients use. At most `max_policies` nets are in memory. If a further
    one is needed, the least recently used net is removed."""

    def __init__(
        self,
        sources: Mapping[str, PolicySource],
        games: GameLookup,
        *,
        max_policies: int = 4,
        rows: int = 512,
        seed: int = 0,
    ) -> None:
        """rows: about how many rows one forward pass has, which decides the device."""
        self.sources, self._games = dict(sources), games
        self._max_policies, self._rows, self._seed = max_policies, rows, seed
        self._served: dict[tuple[str, bool], ServedPolicy] = {}
        self._use = itertools.count(1)

    @property
    def names(self) -> list[str]:
        return list(self.sources)

    @property
    def device(self) -> str:
        """The devices of the policies in memory."""
        devices = {str(each.policy.weights.vector.device) for each in self._served.values() if each.policy is not None}
        return ", ".join(sorted(devices)) or "none"

    def reports(self) -> list[PolicyReport]:
        """Return the numbers of every policy, separately for greedy and for sampled actions."""
        return [each.report() for each in self._served.values()]

    def add(self, source: PolicySource) -> None:
        """Serve and load a further policy. Raises ConfigError if the name is taken, and CheckpointError if the
        checkpoint cannot be read; the library is then as before."""
        holder = self.sources.get(source.name)
        if holder is not None and holder != source:
            raise ConfigError(
                f"{holder.path} is served as {source.name!r} already; choose another name, as in "
                f"other={source.path}, or remove that one first"
            )
        before = self.sources
        self.sources = {**before, source.name: source}  # replaced, not changed: the watcher reads it in its thread
        try:
            self.open(source.name)
        except LudusError:
            self.sources = before
            raise

    def remove(self, name: str) -> None:
        """Serve a policy no longer. Raises CheckpointError for an unknown name, and ServingError while clients hold
        rows of the policy."""
        if name not in self.sources:
            raise CheckpointError(f"there is no policy {name!r} here; {did_you_mean(name, list(self.sources))}")
        opened = {key: served for key, served in self._served.items() if served.source.name == name}
        clients = sum(served.clients for served in opened.values())
        if clients:
            raise ServingError(
                f"{name}: {clients} clients hold rows of it; remove it once they have left, or the lease of lost ones "
                "has ended"
            )
        self.sources = {other: source for other, source in self.sources.items() if other != name}
        self._served = {key: served for key, served in self._served.items() if key not in opened}

    def open(self, requested: str, *, greedy: bool = True) -> ServedPolicy:
        """Return the policy that a client asks for, as NAME or NAME@u00000120. Raises CheckpointError."""
        served = self._served.get((requested, greedy))
        if served is None:
            source, version = find_source(requested, self.sources)
            path = source.checkpoint(version)
            state = checkpoint.read_state(path)
            spec = checkpoint.read_spec(path, state)
            recurrent = state.policy.recurrent.kind != "none"
            local = self._games.local_options(path, state.game.name)
            served = ServedPolicy(
                requested,
                source,
                version,
                path,
                state,
                spec,
                DecisionTable(recurrent=recurrent),
                greedy,
                {name: value for name, value in state.options.items() if name not in local},
                _digest(path),
                version=state.version,
            )
            served.floats = [leaf.name for leaf in spec.obs.leaves if leaf.dtype == "float32"]
        self.net(served)
        self._served[requested, greedy] = served
        return served

    def net(self, served: ServedPolicy) -> NetPolicy:
        """Return the net of a policy, loaded if it was not in memory. Raises CheckpointError."""
        served.used = next(self._use)
        if served.policy is None:
            self._make_room(served)
            nets = self._games.nets_for(served.path, served.spec.name)
            served.policy = checkpoint.load_agent(
                served.path,
                served.spec,
                greedy=served.greedy,
                seed=self._seed,
                rows=self._rows,
                game_nets=nets,
                state=served.state,
            )
            states = served.policy.states
            if served.hidden_states is not None and states is not None:
                states.put(np.arange(len(served.hidden_states)), served.hidden_states)
            served.hidden_states = None
            log.info("loaded %s (%s, version %d)", served.name, served.path, served.version)
        return served.policy

    def adopt(self, name: str, path: Path, weights: NDArray[np.float32], state: State, sha256: str) -> None:
        """Use newer weights of a source from now on, except for clients that asked for a fixed version."""
        for served in self._served.values():
            if served.source.name == name and not served.pinned:
                served.path, served.state, served.version = path, state, state.version
                served.sha256 = sha256
                served.reloads += 1
                if served.policy is not None:
                    served.policy.adopt(weights, state.version)

    def refuse_reload(self, name: str) -> None:
        """Count a checkpoint of a source that could not be read."""
        for served in self._served.values():
            if served.source.name == name and not served.pinned:
                served.refused_reloads += 1

    def latest(self, name: str) -> tuple[int, GameSpec | None]:
        """Return the version of a source that is in use, and its game. Returns (-1, None) if no client has asked for it
        yet."""
        for served in list(self._served.values()):  # a copy: the serving thread may open further ones
            if served.source.name == name and not served.pinned:
                return served.version, served.spec
        return -1, None

    def read_weights(self, path: Path, spec: GameSpec) -> tuple[NDArray[np.float32], State, str]:
        """Return the weights of a checkpoint as one vector, its state and the SHA-256 of its model; safe in another
        thread. Raises
        CheckpointError if it cannot be read or was made for another game."""
        path = checkpoint.find(path)
        net, _, state = checkpoint.read_net(path, spec, game_nets=self._games.nets_for(path, spec.name))
        weights: NDArray[np.float32] = FlatWeights(net).numpy().copy()
        if not np.isfinite(weights).all():
            raise CheckpointError(f"{path} has weights that are not finite")
        return weights, state, _digest(path)

    def _make_room(self, incoming: ServedPolicy) -> None:
        loaded = [each for each in self._served.values() if each.policy is not None and each is not incoming]
        loaded.sort(key=lambda each: each.used)
        for served in loaded[: max(0, len(loaded) - self._max_policies + 1)]:
            assert served.policy is not None
            if served.policy.states is not None and len(served.slots):
                served.hidden_states = served.policy.states.take(np.arange(len(served.slots)))
            served.policy = None
            log.info("%s leaves memory: %d other policies were used later", served.name, self._max_policies)
            if not served.slots.used and not served.clients:
                del self._served[served.name, served.greedy]
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _digest(path: Path) -> str:
    """Return the SHA-256 of the model of a checkpoint. Raises CheckpointError."""
    with reading(path):
        return checksums.of_file(path / checkpoint.MODEL).sha256
