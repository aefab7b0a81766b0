"""Turns the text that names a policy into the policy: scripted:NAME, a run's folder, a checkpoint or an address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ludus.errors import ConfigError
from ludus.games import agents, checkpoint_game, registry, thinking
from ludus.games.named_policies import agent_source
from ludus.games.registry import Game
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.serving.address import is_address, parse
from ludus.serving.remote import RemotePolicy
from ludus.spec import GameSpec
from ludus.suggestions import did_you_mean
from ludus.types import Policy

SCRIPTED = "scripted:"

MakePolicy = Callable[[GameSpec, int, int], Policy]  # (spec of the hosts, seed, about how many rows at once)


@dataclass(frozen=True, slots=True)
class Player:
    """A policy that was found, but not loaded."""

    name: str  # short, for tables
    source: str  # scripted:NAME, or the path of the checkpoint
    make: MakePolicy
    sha256: str = ""  # of the checkpoint's model, here or on its server; empty for a scripted policy
    game: str = ""  # of the checkpoint; empty for a scripted policy, which any game may have
    options: Mapping[str, Any] | None = None  # Any: options of the game; None for a scripted policy
    temperature: float = 1.0  # that actions are drawn with; 0: the most likely one
    think_ms: float = 0.0  # milliseconds of search before each decision


def find(text: str, game: Game | None, option: str, *, temperature: float = 1.0, think_ms: float = 0.0) -> Player:
    """Return the player that `text` names: scripted:NAME, the folder of a run (its latest checkpoint), a checkpoint or
    tcp://HOST:PORT/NAME.

    `game` is the game whose scripted policies are meant; it may be None for a checkpoint. `option` names the argument
    in errors. The net of a checkpoint takes its most likely action if `temperature` is 0; a policy on a server plays as
    its address says. A checkpoint searches for `think_ms` before each decision; scripted policies do not. Raises
    ConfigError for an unknown name and for a policy that cannot search, and CheckpointError for a damaged checkpoint.
    """
    if text.startswith(SCRIPTED):
        return _scripted(text, game, option)
    if is_address(text):
        if think_ms:
            raise ConfigError(f"--think-ms: {text} is on a server; search needs the checkpoint itself")
        return _on_server(text)
    path = agents.path_of(text)
    if not path.exists():
        choices = "" if game is None else f" (scripted:NAME of {game.name}: {', '.join(game.players)})"
        raise ConfigError(
            f"{option}: there is no run or checkpoint {text!r}; a scripted policy is scripted:NAME{choices}"
        )
    path = checkpoint.find(path)
    state = checkpoint.read_state(path)
    own = checkpoint_game.game_of(path, state.game.name)
    run = path.parent.parent.name if path.parent.name == checkpoint.CHECKPOINTS else path.parent.name

    def make(spec: GameSpec, seed: int, rows: int) -> Policy:
        torch.set_num_threads(state.policy.threads)
        nets = registry.nets_of(own)
        policy = checkpoint.load_agent(
            path,
            spec,
            greedy=temperature == 0,
            temperature=temperature or 1.0,
            seed=seed,
            rows=rows,
            game_nets=nets,
            state=state,
        )
        return policy if not think_ms else thinking.thinking(policy, spec, own, state.options, think_ms)

    if think_ms:
        thinking.refuse_without_search(own)
    digest = checksums.of_file(path / checkpoint.MODEL).sha256
    return Player(f"{run}/{path.name}", str(path), make, digest, own.name, state.options, temperature, think_ms)


def _on_server(address: str) -> Player:
    """Return the player at tcp://HOST:PORT/NAME. Raises ServingError if the server does not answer."""
    source = agent_source(address)
    return Player(
        address,
        address,
        lambda spec, seed, rows: RemotePolicy(address, spec),
        source.sha256,
        game=source.game().name,
        options=source.options,
        temperature=0.0 if parse(address).greedy else 1.0,
    )


def _scripted(text: str, game: Game | None, option: str) -> Player:
    name = text.removeprefix(SCRIPTED)
    if game is None:
        raise ConfigError(f"{option}: {text} needs a game: give --game")
    if name not in game.players:
        raise ConfigError(f"{option}: {game.name} has no scripted policy {name!r}; {did_you_mean(name, game.players)}")
    factory = game.players[name]
    return Player(text, text, lambda spec, seed, rows: factory(spec, seed))
