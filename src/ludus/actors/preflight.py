"""Checks of a configuration before a run begins, stage by stage. They need the game's description, but no host."""

from __future__ import annotations

from ludus.config.load import CheckedConfig
from ludus.config.settings import RunConfig
from ludus.errors import ConfigError
from ludus.games.named_policies import refuse_unknown
from ludus.games.registry import Game
from ludus.league.curriculum import refuse_unplayed
from ludus.league.matchmaking import refuse_shares, scripted_names
from ludus.learner import algorithms, recurrent_checks
from ludus.policies import nets
from ludus.policies.nets import attention


def refuse_unfit_stages(checked: CheckedConfig, game: Game) -> None:
    """Raise ConfigError if the run, or a stage of its curriculum, has settings that cannot work together."""
    if not checked.stages:
        refuse_unfit(checked.config, game)
    for index, (stage, each) in enumerate(zip(checked.config.curriculum, checked.stages, strict=True)):
        place, config = f"curriculum[{index}]", each.config
        try:
            refuse_unfit(config, game)
        except ConfigError as error:
            raise ConfigError(f"{place}, with its settings: {error}") from error
        refuse_unplayed(stage, config.opponents, config.evaluation.opponents, tuple(game.scripted), place)


def refuse_overload(checked: CheckedConfig, game: Game, hosts: int) -> None:
    """Raise ConfigError if the hosts would play more matches at once than the game's servers run."""
    matches, servers = checked.config.fleet.matches, int(checked.config.servers.count)
    fitting = game.matches_on(checked.options, hosts, matches, servers=servers)
    most = 0 if game.most_matches is None else game.most_matches(checked.options, servers)
    if most and hosts * matches > most:
        fewer = f"fleet.matches={fitting}" if fitting * hosts <= most else f"fleet.hosts={most} --set fleet.matches=1"
        raise ConfigError(
            f"fleet.matches: {hosts} hosts with {matches} matches each play {hosts * matches:,} at once, and the "
            f"servers run at most {most:,}; use --set {fewer}, or more servers"
        )


def refuse_unfit(config: RunConfig, game: Game) -> None:
    """Raise ConfigError if settings cannot work together or name something that the game does not have."""
    scripted_names(config.opponents, tuple(game.scripted))  # refuses unknown names
    refuse_shares(config.opponents)
    refuse_unknown(config.evaluation.opponents, tuple(game.players), "evaluation.opponents")
    algorithms.refuse_unfit(config.learner, config.rollout)
    algorithms.refuse_unfit_data(config.learner, config.data)
    recurrent_checks.refuse_unfit(config.policy.recurrent, config.learner, config.rollout)
    nets.refuse_unknown(config.policy.net, game.nets)
    attention.refuse_unfit(config.policy, game.net)
