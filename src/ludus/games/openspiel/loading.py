"""Load an OpenSpiel game from its options. Unsupported games raise ConfigError with the option and the reason."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ludus.errors import ConfigError, SetupError
from ludus.games.extras import install_command
from ludus.games.openspiel.options import SpielOptions
from ludus.suggestions import did_you_mean

SEATS = 2


def pyspiel() -> ModuleType:
    """Import OpenSpiel, an optional dependency. Raises SetupError if it is not installed."""
    try:
        import pyspiel as found
    except ImportError as error:
        raise SetupError(f"OpenSpiel is not installed ({error}); run: {install_command('openspiel')}") from error
    module: ModuleType = found
    return module


def load(options: SpielOptions) -> Any:  # Any: OpenSpiel has no types
    spiel = pyspiel()
    name, _, inner = options.game.partition("(")
    game_names = spiel.registered_names()
    if name not in game_names:
        hint = did_you_mean(name, game_names, "ludus games openspiel lists those that can be played")
        raise ConfigError(f"options.game: OpenSpiel has no game {name!r}; {hint}")
    if inner and options.parameters:
        raise ConfigError(f"options.parameters: {options.game} has its parameters with it; leave one of the two out")
    try:
        game = spiel.load_game(options.game) if inner else spiel.load_game(name, dict(options.parameters))
    except Exception as error:  # OpenSpiel raises several, some of them bare RuntimeErrors
        where = "options.parameters" if options.parameters else "options.game"
        raise ConfigError(f"{where}: OpenSpiel refuses {options.game}: {' '.join(str(error).split())}") from error
    _refuse_unplayable(game, options)
    return game


def playable() -> tuple[str, ...]:
    """Return the names of the supported games that need no parameters. Empty if OpenSpiel is not installed."""
    try:
        spiel = pyspiel()
    except SetupError:
        return ()
    return tuple(
        kind.short_name
        for kind in spiel.registered_games()
        if kind.default_loadable
        and kind.dynamics == spiel.GameType.Dynamics.SEQUENTIAL
        and kind.chance_mode != spiel.GameType.ChanceMode.SAMPLED_STOCHASTIC
        and kind.min_num_players <= SEATS <= kind.max_num_players
        and (kind.provides_information_state_tensor or kind.provides_observation_tensor)
    )


def _refuse_unplayable(game: Any, options: SpielOptions) -> None:  # Any: OpenSpiel has no types
    spiel, kind = pyspiel(), game.get_type()
    if kind.dynamics != spiel.GameType.Dynamics.SEQUENTIAL:
        raise ConfigError(
            f"options.game: in {options.game} players choose at once; those that take turns are played here. "
            f"OpenSpiel makes turns of it: turn_based_simultaneous_game(game={options.game})"
        )
    if kind.chance_mode == spiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise ConfigError(f"options.game: {options.game} hides its chance, so that a seed could not repeat a match")
    if game.num_players() != SEATS:
        raise ConfigError(f"options.game: {options.game} has {game.num_players()} players, expected {SEATS}")
    if not getattr(kind, f"provides_{options.tensor}_tensor"):
        other = "observation" if options.tensor == "information_state" else "information_state"
        offers = getattr(kind, f"provides_{other}_tensor")
        hint = f"it has the other one: options.tensor: {other}" if offers else "it cannot be played by a net"
        raise ConfigError(f"options.tensor: {options.game} gives no {options.tensor} tensor; {hint}")
