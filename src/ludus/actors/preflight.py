"""What is refused before a run begins: by its configuration, stage by stage, and by asking the game."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ludus.actors.actor import open_fleet
from ludus.config import load
from ludus.config.check import check
from ludus.config.settings import RunConfig
from ludus.errors import ConfigError, FleetError
from ludus.games import registry
from ludus.games.registry import Game
from ludus.league.curriculum import refuse_unplayed
from ludus.league.matchmaking import refuse_unknown, scripted_names
from ludus.learner import algorithms, recurrent_checks
from ludus.policies import nets
from ludus.policies.nets import transformer
from ludus.spec import GameSpec


def stages(config: RunConfig, game: Game) -> tuple[RunConfig, ...]:
    """The configuration of each stage, of a run without stages its own. Raises ConfigError for what cannot be done."""
    if not config.curriculum:
        refuse_unfit(config, game)
        return (config,)
    configs = load.in_stages(config, options_of=lambda name: registry.load(name).options)
    for index, (stage, each) in enumerate(zip(config.curriculum, configs, strict=True)):
        place = f"curriculum[{index}]"
        try:
            refuse_unfit(each, game)
        except ConfigError as error:
            raise ConfigError(f"{place}, with what it sets: {error}") from error
        refuse_unplayed(stage, each.opponents, each.evaluation.opponents, tuple(game.scripted), place)
    return configs


def refuse_unfit(config: RunConfig, game: Game) -> None:
    """What one configuration says that cannot be done."""
    check(config.options, game.options, "options")
    scripted_names(config.opponents, tuple(game.scripted))  # refuses unknown names
    refuse_unknown(config.evaluation.opponents, tuple(game.scripted), "evaluation.opponents")
    algorithms.refuse_unfit(config.learner, config.rollout)
    recurrent_checks.refuse_unfit(config.policy.memory, config.learner, config.rollout)
    nets.refuse_unknown(config.policy.net, game.nets)
    transformer.refuse_unfit(config.policy)


def refuse_other_nets(configs: Sequence[RunConfig], game: Game, log_dir: Path) -> None:
    """Ask the game, by a host for each set of options, whether one net can play all stages. Where servers are to be
    started first it cannot be asked: such a stage fails when it begins."""
    first: tuple[RunConfig, GameSpec] | None = None
    asked: list[dict[str, object]] = []
    for index, config in enumerate(configs):
        if config.servers.count or config.options in asked:
            continue
        asked.append(config.options)
        if first is None and all(other.options == config.options for other in configs):
            return
        spec = _ask(config, game, log_dir, index)
        if first is None:
            first = config, spec
        elif spec.net_fingerprint != first[1].net_fingerprint:
            raise ConfigError(f"curriculum[{index}].set: {_difference(first[1], spec)}; one net plays all stages")


def _ask(config: RunConfig, game: Game, log_dir: Path, index: int) -> GameSpec:
    one = msgspec.structs.replace(config, fleet=msgspec.structs.replace(config.fleet, hosts=1, matches=1))
    try:
        with open_fleet(one, game, log_dir, 0) as fleet:
            return fleet.spec
    except FleetError as error:
        raise ConfigError(f"curriculum[{index}].set: no host plays with these options: {error}") from error


def _difference(one: GameSpec, other: GameSpec) -> str:
    if one.actions != other.actions:
        return f"this stage has {other.actions} actions, the first has {one.actions}"
    if one.obs != other.obs:
        shapes = ({leaf.name: leaf.shape for leaf in spec.obs.leaves} for spec in (other, one))
        return "this stage observes {}, the first {}".format(*shapes)
    return f"what this stage ({other.name}) means by observations or actions is not what the first ({one.name}) does"
