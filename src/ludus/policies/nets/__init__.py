"""The table of nets that fit any game, and `build`, which makes a net. docs/inference.md shows how to add one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from importlib import import_module

import torch

from ludus.config.settings import PolicyConfig
from ludus.errors import ConfigError
from ludus.policies.nets.net import Net
from ludus.spec import GameSpec
from ludus.suggestions import did_you_mean

NetFactory = Callable[[GameSpec, PolicyConfig], Net]
"""A subclass of `Net`, or a function that returns a net."""

NETS = {
    "mlp": "ludus.policies.nets.mlp:MlpNet",
    "entities": "ludus.policies.nets.entities:EntityNet",
    "transformer": "ludus.policies.nets.transformer:TransformerNet",
}
"""Maps `policy.net` to "module:class" of a net for any game. The module is imported when the net is built. The nets of
a single game are in its `Game.nets`."""

NO_NETS: Mapping[str, NetFactory] = {}


def build(
    spec: GameSpec, config: PolicyConfig, prefers: str, seed: int = 0, *, game_nets: Mapping[str, NetFactory] = NO_NETS
) -> Net:
    """Build the net that the configuration names, with initial weights drawn from `seed`.

    prefers: the net that `policy.net: auto` means. game_nets: the nets that the game brings, by name; they take
    precedence over the nets for any game. Raises ConfigError for an unknown name.
    """
    name = prefers if config.net == "auto" else config.net
    refuse_unknown(name, game_nets)
    factory = game_nets.get(name) or _find(name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = factory(spec, config)
    if not isinstance(net, Net):
        raise ConfigError(
            f"policy.net: {name!r} is a {type(net).__name__}, not a subclass of ludus.policies.nets.net.Net"
        )
    return net


def refuse_unknown(name: str, game_nets: Collection[str]) -> None:
    """Raise ConfigError unless a net of this name exists. "auto" is known."""
    names = ["auto", *sorted({*NETS, *game_nets})]
    if name not in names:
        raise ConfigError(f"policy.net: unknown net {name!r}; {did_you_mean(name, names)}")


def _find(name: str) -> NetFactory:
    """Import and return the class of a net in `NETS`."""
    module, _, class_name = NETS[name].partition(":")
    factory: NetFactory = getattr(import_module(module), class_name)
    return factory
