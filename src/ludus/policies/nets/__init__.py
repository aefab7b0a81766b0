"""Nets map observation leaves and a mask to a distribution over the legal actions and values.

A net is a torch module with `forward(obs: Mapping[str, Tensor], legal: bool [n, A]) -> (Distribution, value [n])`;
leaves come in the spec's dtypes. It may have
- `prepare(obs, legal) -> Mapping[str, Tensor]`, what it reads whatever its weights are, the first axis the rows', and
  `judge(inputs, legal)`, the rest of `forward`: then learning prepares once an update and not once a minibatch;
- `freeze_tables()`, called whenever weights for playing have changed, unless it has a chooser;
- `chooser(spec) -> Chooser`, which plays as `forward` would, without its overhead for small batches;
- `exact`, names of linear layers whose weights must not be rounded for playing in bfloat16;
- `core`, a `recurrence.Core` or None: then `judge(inputs, legal, recall)` gets the memory of the rows by `recall`;
- `before_heads(inputs, recall) -> Heads | None`, `judge` up to its last layers in as few kernels of a CUDA device as it
  can, without gradients; None where there are no such kernels.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ludus.config.settings import PolicyConfig
from ludus.errors import ConfigError
from ludus.policies.distributions import Categorical, Distribution
from ludus.policies.nets.heads import Heads
from ludus.policies.nets.mlp import MlpNet
from ludus.policies.nets.recurrence import Core, Recall
from ludus.policies.nets.transformer import TransformerNet
from ludus.spec import GameSpec


class Chooser(Protocol):
    """A net at play on the CPU, with the weights it had at the last `refresh`."""

    draws: int  # uniform numbers a row

    def refresh(self) -> None: ...

    def takes(self, legal: NDArray[np.bool_]) -> bool:
        """Whether these rows [n, A] can be given to `choose`."""
        ...

    def choose(
        self,
        obs: NDArray[np.uint8],
        legal: NDArray[np.bool_],
        uniform: NDArray[np.float32] | None,
        recall: Recall | None = None,
    ) -> tuple[NDArray[np.signedinteger[Any]], NDArray[np.float32], NDArray[np.float32]]:
        """Action, its log-probability and the value, [n] each, of rows [n, nbytes]. `uniform` [draws, n] decides as it
        would in `Distribution.sample`; None: `Distribution.best`."""
        ...


NetFactory = Callable[[GameSpec, PolicyConfig], nn.Module]
"""A class of nets, or a function that builds one."""

NETS: dict[str, NetFactory] = {"mlp": MlpNet, "transformer": TransformerNet}
"""The nets for any game. A game brings its own by `Game.nets`."""

NO_NETS: Mapping[str, NetFactory] = {}


def build(
    spec: GameSpec, config: PolicyConfig, prefers: str, seed: int = 0, *, game_nets: Mapping[str, NetFactory] = NO_NETS
) -> nn.Module:
    """Build the net that the configuration names, with initial weights drawn from `seed`.

    prefers: the net that `policy.net: auto` means. game_nets: the nets that the game brings, by name; they take
    precedence over the nets for any game. Raises ConfigError for an unknown name.
    """
    name = prefers if config.net == "auto" else config.net
    refuse_unknown(name, game_nets)
    factory = game_nets.get(name) or NETS[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return factory(spec, config)


def refuse_unknown(name: str, game_nets: Collection[str]) -> None:
    """Raise ConfigError unless a net of this name exists. "auto" is known."""
    names = ["auto", *sorted({*NETS, *game_nets})]
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names)}"
        raise ConfigError(f"policy.net: unknown net {name!r}; {hint}")


def core_of(net: nn.Module) -> Core | None:
    """What the net remembers with; None for one without memory."""
    return cast(Core | None, getattr(net, "core", None))


def evaluate(
    net: nn.Module, obs: Mapping[str, Tensor], legal: Tensor, recall: Recall | None = None
) -> tuple[Distribution, Tensor]:
    """What the net says of n rows. One that gives plain logits [n, A] means a softmax over the legal ones."""
    return judge(net, prepare(net, obs, legal), legal, recall)


def ask(
    net: nn.Module, obs: Mapping[str, Tensor], legal: Tensor, recall: Recall | None = None
) -> Heads | tuple[Distribution, Tensor]:
    """As `evaluate`; but a net that can do with fewer kernels leaves its last layers to whoever asks."""
    inputs, before_heads = prepare(net, obs, legal), getattr(net, "before_heads", None)
    heads = None if before_heads is None else cast(Heads | None, before_heads(inputs, recall))
    return judge(net, inputs, legal, recall) if heads is None else heads


def prepare(net: nn.Module, obs: Mapping[str, Tensor], legal: Tensor) -> Mapping[str, Tensor]:
    """What `judge` needs of n rows, none of it dependent on weights."""
    prepared = getattr(net, "prepare", None)
    return obs if prepared is None else cast(Mapping[str, Tensor], prepared(obs, legal))


def judge(
    net: nn.Module, inputs: Mapping[str, Tensor], legal: Tensor, recall: Recall | None = None
) -> tuple[Distribution, Tensor]:
    """What the net says of n prepared rows. Only a net with a memory is given one."""
    given = (inputs, legal) if recall is None else (inputs, legal, recall)
    said, value = cast(tuple[Distribution | Tensor, Tensor], getattr(net, "judge", net)(*given))
    return Categorical(said, legal) if isinstance(said, Tensor) else said, value
