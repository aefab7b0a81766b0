"""Turns the names that commands and configurations accept into policies.

| name | policy |
| --- | --- |
| `heuristic`, `scripted:heuristic` | a scripted policy of the game |
| `runs/gen1-20250101-1` | the latest checkpoint of a run |
| `runs/gen1-20250101-1/checkpoints/u00000120` | a checkpoint |
| `gen9-best` | an agent that comes with a game (`ludus agents`); `best` is the one of the game that is played |
| `tcp://127.0.0.1:5555/NAME` | a policy on a server (`ludus serve`) |
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludus.errors import ConfigError
from ludus.games import agents, checkpoint_game, registry, thinking
from ludus.games.registry import Game
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.checkpoint import State
from ludus.serving.address import is_address
from ludus.serving.client import Client
from ludus.serving.remote import RemotePolicy
from ludus.spec import GameSpec, teams_in
from ludus.suggestions import did_you_mean
from ludus.types import Policy

SCRIPTED = "scripted:"
ROWS = 512  # usual rows of a batch, which decide whether a policy plays on the GPU


def is_elsewhere(name: str) -> bool:
    """Return whether a name means a checkpoint or a policy on a server, and not a scripted policy."""
    if is_address(name) or name == agents.BEST:
        return True
    return not name.startswith(SCRIPTED) and agents.path_of(name).is_dir()


def refuse_unknown(names: Collection[str], scripted: Collection[str], where: str) -> None:
    """Raise ConfigError for a name that means no policy. `where` is the setting or option that contains it."""
    for name in names:
        if name.removeprefix(SCRIPTED) not in scripted and not is_elsewhere(name):
            raise ConfigError(
                f"{where}: this game has no scripted policy {name!r} ({did_you_mean(name, list(scripted))}), and it is "
                "neither the folder of a run or checkpoint, an agent of `ludus agents`, nor tcp://HOST:PORT/NAME"
            )


def named_policy(
    name: str, spec: GameSpec, game: Game, *, seed: int = 0, greedy: bool = True, rows: int = ROWS
) -> Policy:
    """Return the policy of a name, for the game with this spec.

    seed: of its random numbers. greedy: nets take the most likely action instead of a sample; the address of a policy
    on a server says so itself (`?sample`). rows: about how many rows it will choose for at once. Raises ConfigError for
    an unknown name, CheckpointError for a checkpoint that does not fit, and ServingError if a server does not answer or
    has another game.
    """
    if is_address(name):
        return RemotePolicy(name, spec)
    script = game.players.get(name.removeprefix(SCRIPTED))
    if script is not None and (name.startswith(SCRIPTED) or name in game.players):
        return script(spec, seed)
    if not is_elsewhere(name):
        refuse_unknown((name,), game.players, "policy")
    nets = registry.nets_of(game)
    path = agents.best_for(spec.name) if name == agents.BEST else agents.path_of(name)
    return checkpoint.load_agent(checkpoint.find(path), spec, greedy=greedy, seed=seed, rows=rows, game_nets=nets)


@dataclass(frozen=True, slots=True)
class AgentSource:
    """A trained policy that is named before a host runs: its game, and the options that it was trained with."""

    name: str  # the folder of a checkpoint, or an address
    game_name: str  # of its spec, such as showdown-gen1randombattle
    seats: int
    layout: Mapping[str, Any]  # Any: the game's own constants
    options: Mapping[str, Any]  # Any: the game's own, not yet checked
    state: State | None = None  # of a checkpoint on this machine
    config: Mapping[str, Any] | None = None  # Any: the configuration of its run, if it is there
    sha256: str = ""  # of the model, of a policy on a server; empty if an older server does not tell
    think_ms: float = 0.0  # milliseconds of search before each decision

    @property
    def path(self) -> Path | None:
        """The folder of the checkpoint, or None for a policy on a server."""
        return None if self.state is None else Path(self.name)

    @property
    def samples(self) -> bool:
        """True if its run evaluates with sampled instead of most likely actions (`evaluation.sample`)."""
        section = None if self.config is None else self.config.get("evaluation")
        return isinstance(section, dict) and section.get("sample") is True

    @property
    def teams(self) -> tuple[int, ...]:
        """The team of each seat."""
        return teams_in(self.layout, self.seats)

    def game(self) -> Game:
        """Return the installed game that it plays. Raises ConfigError."""
        return checkpoint_game.game_in(self.config, self.game_name)

    def load(self, spec: GameSpec, game: Game, *, rows: int = ROWS, greedy: bool = True, seed: int = 0) -> Policy:
        """Return the policy, which takes the most likely actions, or samples if not `greedy`; if `think_ms` is above 0,
        after a search. Raises CheckpointError or ServingError, and ConfigError if it cannot search."""
        if self.state is None:
            return RemotePolicy(self.name, spec)
        path, nets = Path(self.name), registry.nets_of(game)
        policy = checkpoint.load_agent(
            path, spec, rows=rows, greedy=greedy, seed=seed, game_nets=nets, state=self.state
        )
        return policy if not self.think_ms else thinking.thinking(policy, spec, game, self.options, self.think_ms)

    def with_search(self, think_ms: float) -> AgentSource:
        """Return the same agent, which searches for `think_ms` before each decision (0: not at all). Raises ConfigError
        if it is on a server."""
        if think_ms and self.state is None:
            raise ConfigError(f"--think-ms: {self.name} is on a server; search needs the checkpoint itself")
        return dataclasses.replace(self, think_ms=think_ms)


def agent_source(name: str) -> AgentSource:
    """Return what is known of a run, a checkpoint or tcp://HOST:PORT/NAME. Raises CheckpointError or ServingError."""
    if is_address(name):
        with Client(name) as client:
            policy = client.policy
        game = policy.game
        return AgentSource(name, game.name, game.seats, game.layout, game.options, sha256=policy.sha256)
    path = checkpoint.find(agents.path_of(name))
    state = checkpoint.read_state(path)
    config = checkpoint_game.config_of(path)
    return AgentSource(
        str(path), state.game.name, state.game.seats, state.game.layout, state.options, state=state, config=config
    )
