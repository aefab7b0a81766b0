"""Search before each decision (`--think-ms`), for games that bring it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from ludus.errors import ConfigError
from ludus.games.registry import Game, attribute_of
from ludus.policies.network import NetPolicy
from ludus.spec import GameSpec
from ludus.types import Policy


@runtime_checkable
class Thinking(Protocol):
    """Optional attributes of a policy that searches."""

    searched: int  # decisions that were searched
    cut: int  # those of them for which the time was up before anything was known: the net's own action was played
    slowest_ms: float  # of a decision, from its start to its action

    def close(self) -> None:
        """End the processes of the search."""
        ...


def thinking(
    policy: NetPolicy,
    spec: GameSpec,
    game: Game,
    options: Mapping[str, Any],  # Any: the game's own
    think_ms: float,
) -> Policy:
    """Return the policy with a search of up to `think_ms` before each decision. Raises ConfigError if the game or the
    net has none."""
    refuse_without_search(game)
    if policy.states is not None:
        raise ConfigError("--think-ms: a net with a hidden state cannot be searched with")
    thinker: Policy = attribute_of(game, game.thinking, "its search")(policy, spec, options, think_ms)
    return thinker


def refuse_without_search(game: Game) -> None:
    """Raise ConfigError if the game brings no search."""
    if not game.thinking:
        raise ConfigError(f"--think-ms: {game.name} brings no search")


def summary(policy: object) -> str:
    """Return what a policy that searches has counted, in words; empty for others."""
    if not isinstance(policy, Thinking):
        return ""
    return f"{policy.searched:,} decisions searched, {policy.cut:,} cut, slowest {policy.slowest_ms:.0f} ms"


def close(policy: object) -> None:
    """End the processes of a policy that searches."""
    if isinstance(policy, Thinking):
        policy.close()
