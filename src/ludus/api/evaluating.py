"""Evaluate a trained agent against scripted opponents."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ludus.api.training import Run
from ludus.config import load
from ludus.config.folders import CONFIG
from ludus.config.settings import FleetConfig, ServersConfig
from ludus.config.validation import check
from ludus.errors import ConfigError
from ludus.evaluation import arena
from ludus.evaluation.arena import MatchupResult, Progress
from ludus.evaluation.schedule import evenly
from ludus.games import defaults, registry, trust
from ludus.games.registry import Game
from ludus.metrics.core import Metrics
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.checkpoint import SavedCheckpoint, State
from ludus.policies.nets import NetFactory
from ludus.processes import log_folder
from ludus.processes.cores import cores
from ludus.spec import GameSpec, teams_in
from ludus.types import Policy

AGENT = "agent"
SEED = 20_000  # the default of `evaluation.seed`, so that results compare with those of training runs


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
        opponents: Names of scripted policies. The default is all scripted policies of the game.
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
    resolved = resolve(run, opponents, hosts=hosts, servers=servers, options=options)
    if resolved.game.prepare is not None:
        resolved.game.prepare(resolved.options, lambda step, share: None)
    return play(resolved, matches, seed=seed, save_replays=save_replays, progress=progress, metrics=metrics)


@dataclass(frozen=True, slots=True)
class ResolvedEvaluation:
    """A validated evaluation: the checkpoint that was read, the game, its options and the numbers of processes."""

    checkpoint: SavedCheckpoint
    game: Game
    options: msgspec.Struct
    opponents: tuple[str, ...]
    servers: ServersConfig
    cores: int
    hosts: int


def resolve(
    run: Run | str | Path,
    opponents: Sequence[str] = (),
    *,
    hosts: int = 0,
    servers: int | None = None,
    options: Mapping[str, Any] | None = None,  # Any: options of the game, not yet checked
) -> ResolvedEvaluation:
    """Read a checkpoint and validate the arguments of `evaluate`, without starting a process.

    Returns the evaluation, for `play`. Raises CheckpointError, UntrustedError or ConfigError, as `evaluate` does.
    """
    path = find(run)
    state = checkpoint.read_state(path)
    config = _config_of(path)
    game = _game_in(config, state.game.name)
    usable_cores = cores()
    return ResolvedEvaluation(
        SavedCheckpoint(path, state),
        game,
        _options(path, state, game, options or {}, servers),
        scripted_opponents(opponents, game),
        _servers(path, config, servers),
        usable_cores,
        FleetConfig(hosts=hosts).hosts_on(usable_cores),
    )


def play(
    resolved: ResolvedEvaluation,
    matches: int,
    *,
    seed: int = SEED,
    save_replays: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    metrics: Metrics | None = None,
) -> list[MatchupResult]:
    """Play the matches of an evaluation and return one result per opponent.

    The arguments are those of `evaluate`. Raises SetupError, FleetError or EvaluationError.
    """
    game, state = resolved.game, resolved.checkpoint.state
    teams = teams_in(state.game.layout, state.game.seats)

    def policies(spec: GameSpec) -> Mapping[str, Policy]:
        """Return the agent and its opponents by name, built for the spec that the hosts sent."""
        rows = resolved.hosts * FleetConfig().matches
        nets = registry.nets_of(game)
        agent = checkpoint.load_agent(resolved.checkpoint.path, spec, rows=rows, game_nets=nets, state=state)
        return {AGENT: agent, **{name: game.scripted[name](spec, seed) for name in resolved.opponents}}

    with (
        log_folder.temporary_log_folder("ludus-eval-") as folder,
        game.served(resolved.options, resolved.servers, folder) as served,
    ):
        return arena.play(
            game,
            served.options,
            policies,
            agent=AGENT,
            opponents=resolved.opponents if state.game.seats > 1 else (),
            matches=evenly(matches, teams),
            seed=seed,
            teams=teams,
            log_dir=folder,
            hosts=resolved.hosts,
            usable_cores=resolved.cores,
            progress=progress,
            save_replays=None if save_replays is None else Path(save_replays),
            metrics=metrics,
        )


def find(run: Run | str | Path) -> Path:
    """Return the folder of a checkpoint: the latest of a run, or `run` itself if it is a checkpoint.

    Raises CheckpointError if there is none.
    """
    if isinstance(run, Run):
        return checkpoint.find(run.checkpoint or run.folder)
    return checkpoint.find(Path(run))


def _options(
    path: Path,
    state: State,
    game: Game,
    local: Mapping[str, Any],  # Any: options of the game, not yet checked
    servers: int | None,
) -> msgspec.Struct:
    """Return the game options of a checkpoint, overridden by those of the caller (`local`).

    Raises UntrustedError if the checkpoint sets an option that only the user of this machine may set.
    """
    saved = {name: value for name, value in state.options.items() if not servers or name not in game.local}
    return check(trust.accept(game, saved, str(path), local), game.options, f"{path}: options")


def scripted_opponents(names: Sequence[str], game: Game) -> tuple[str, ...]:
    """Return `names`, or all scripted policies of the game if it is empty. Raises ConfigError for an unknown name."""
    for name in names:
        if name not in game.scripted:
            raise ConfigError(f"--opponents: {game.name} has no {name!r}; there are {', '.join(game.scripted)}")
    return tuple(names) or tuple(game.scripted)


def nets_for(checkpoint_path: Path, spec_name: str) -> dict[str, NetFactory]:
    """Return the net architectures of a checkpoint's game, by name. Empty if that game is not installed."""
    try:
        return registry.nets_of(game_of(checkpoint_path, spec_name))
    except ConfigError:
        return {}


def game_of(path: Path, spec_name: str) -> Game:
    """Return the game of a checkpoint, from its run's configuration or, outside of a run, from the name in its spec.

    Raises ConfigError if that game is not installed.
    """
    return _game_in(_config_of(path), spec_name)


def _config_of(path: Path) -> Mapping[str, Any] | None:  # Any: plain data, not yet checked
    """Return the configuration of a checkpoint's run, or None if the checkpoint is not in the folder of a run."""
    config = path.parent.parent / CONFIG
    return load.read(config) if config.exists() else None


def _game_in(config: Mapping[str, Any] | None, spec_name: str) -> Game:  # Any: plain data, not yet checked
    if config is not None:
        return registry.load(str(defaults.with_game(config)["game"]))
    return registry.load(re.split("[-/]", spec_name)[0])


def _servers(path: Path, config: Mapping[str, Any] | None, count: int | None) -> ServersConfig:  # Any: plain data
    """Return the server settings of the checkpoint's run. `count`, if given, replaces the number of servers."""
    section = {} if config is None else config.get("servers", {})
    servers = check(section, ServersConfig, f"{path.parent.parent / CONFIG}: servers")
    return servers if count is None else msgspec.structs.replace(servers, count=count)
