"""Evaluate a trained agent against scripted opponents."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ludus.api.training import Run
from ludus.config import load
from ludus.config.check import check
from ludus.config.folders import CONFIG
from ludus.config.settings import FleetConfig, ServersConfig
from ludus.errors import ConfigError
from ludus.evaluation import arena
from ludus.evaluation.arena import MatchupResult, Progress
from ludus.evaluation.schedule import evenly
from ludus.games import registry, trust
from ludus.games.registry import Game
from ludus.metrics.core import Metrics
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.checkpoint import State
from ludus.policies.nets import NetFactory
from ludus.processes import log_folder
from ludus.processes.cores import cores
from ludus.spec import GameSpec, teams_in
from ludus.types import Policy

AGENT = "agent"
SEED = 20_000  # the list of match-ups that a run's own evaluation plays


def evaluate(
    run: Run | str | Path,
    opponents: Sequence[str] = (),
    matches: int = 400,
    *,
    seed: int = SEED,
    hosts: int = 0,
    servers: int | None = None,
    options: Mapping[str, Any] | None = None,  # Any: options of the game, checked before anything starts
    save_replays: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    metrics: Metrics | None = None,
) -> list[MatchupResult]:
    """Play a trained agent against scripted opponents. The agent takes its most likely action.

    Args:
        run: A `Run`, the folder of a run (its latest checkpoint is used), or the folder of a checkpoint.
        opponents: Names of scripted policies. The default is all of the game.
        matches: Number of matches against each opponent. Each seed is played once from every seat.
        seed: Selects the list of matches. The default is the list that training runs use for their final evaluation.
        hosts: Number of host processes. 0 means one per core.
        servers: Number of game servers to start, for games that use servers. The default is that of the run.
        options: Options of the game that override those of the checkpoint. A checkpoint from elsewhere cannot name a
            module, program or path (docs/security.md); name them here.
        save_replays: Folder for a few saved matches, which `ludus replay` shows.
        progress: Called after each match.
        metrics: Receives the time that each activity took.

    Returns:
        One result per opponent, with wins, losses, ties and a 95% interval of the win rate.

    Raises:
        CheckpointError: The checkpoint cannot be read or does not fit the game.
        UntrustedError: The checkpoint sets an option that only this machine may set.
        ConfigError: An argument is wrong, such as an unknown opponent.
        SetupError: Something that the game needs is missing on this machine.
        FleetError: No host is left to play on.
        EvaluationError: Some matches did not finish, so there is no result.
    """
    chosen = find(run)
    state = checkpoint.read_state(chosen)
    game = game_of(chosen, state.game.name)
    game_options = options_of(chosen, state, game, options or {}, servers)
    names = scripted_opponents(opponents, game)
    teams = teams_in(state.game.layout, state.game.seats)
    if game.prepare is not None:
        game.prepare(game_options, lambda stage, share: None)

    def policies(spec: GameSpec) -> Mapping[str, Policy]:
        """The agent and its opponents, for the game as its hosts describe it."""
        rows = (hosts or cores()) * FleetConfig().matches
        scripted = {name: game.scripted[name](spec, seed) for name in names}
        return {AGENT: checkpoint.load_agent(chosen, spec, rows=rows, game_nets=registry.nets_of(game)), **scripted}

    with (
        log_folder.temporary_log_folder("ludus-eval-") as folder,
        game.served(game_options, _servers(chosen, servers), folder) as served,
    ):
        return arena.play(
            game,
            served.options,
            policies,
            agent=AGENT,
            opponents=names if state.game.seats > 1 else (),
            matches=evenly(matches, teams),
            seed=seed,
            teams=teams,
            log_dir=folder,
            hosts=hosts or None,
            progress=progress,
            save_replays=None if save_replays is None else Path(save_replays),
            metrics=metrics,
        )


def find(run: Run | str | Path) -> Path:
    """The folder of the checkpoint that is meant. Raises CheckpointError."""
    if isinstance(run, Run):
        return checkpoint.find(run.checkpoint or run.folder)
    return checkpoint.find(Path(run))


def options_of(
    chosen: Path,
    state: State,
    game: Game,
    local: Mapping[str, Any],  # Any: options of the game, not yet checked
    servers: int | None = None,
) -> msgspec.Struct:
    """The options a checkpoint is evaluated with: its own, with those of this machine (`local`) over them. Raises
    UntrustedError for one that only this machine may set."""
    kept = {name: value for name, value in state.options.items() if not servers or name not in game.local}
    return check(trust.accept(game, kept, str(chosen), local), game.options, f"{chosen}: options")


def scripted_opponents(names: Sequence[str], game: Game) -> tuple[str, ...]:
    """These opponents, or all of the game. Raises ConfigError for one that the game does not have."""
    for name in names:
        if name not in game.scripted:
            raise ConfigError(f"--opponents: {game.name} has no {name!r}; there are {', '.join(game.scripted)}")
    return tuple(names) or tuple(game.scripted)


def nets_for(chosen: Path, spec_name: str) -> dict[str, NetFactory]:
    """The nets that the game of a checkpoint brings; none if that game is not installed."""
    try:
        return registry.nets_of(game_of(chosen, spec_name))
    except ConfigError:
        return {}


def game_of(chosen: Path, spec_name: str) -> Game:
    """The game of a checkpoint: what its run's configuration says or, for one that left its run, its hosts."""
    config = chosen.parent.parent / CONFIG
    if config.exists():
        return registry.load(str(load.read(config).get("game", "showdown")))
    return registry.load(re.split("[-/]", spec_name)[0])


def _servers(chosen: Path, count: int | None) -> ServersConfig:
    """What the checkpoint's run says of servers, with as many of them as asked for."""
    config = chosen.parent.parent / CONFIG
    section = load.read(config).get("servers", {}) if config.exists() else {}
    servers = check(section, ServersConfig, f"{config}: servers")
    return servers if count is None else msgspec.structs.replace(servers, count=count)
