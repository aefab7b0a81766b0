"""Evaluate a trained agent against scripted opponents and other agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ludus.api.training import Run
from ludus.config.folders import CONFIG
from ludus.config.settings import FleetConfig, ServersConfig
from ludus.config.validation import check
from ludus.evaluation import arena
from ludus.evaluation.arena import MatchupResult, Progress
from ludus.evaluation.schedule import evenly
from ludus.games import agents, named_policies, thinking, trust
from ludus.games.named_policies import AgentSource
from ludus.games.registry import Game
from ludus.metrics.core import Metrics
from ludus.policies.checkpoints import checkpoint
from ludus.processes import log_folder
from ludus.processes.cores import cores
from ludus.spec import GameSpec
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
    sample: bool | None = None,
    save_replays: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    metrics: Metrics | None = None,
    think_ms: float = 0.0,
) -> list[MatchupResult]:
    """Play a trained agent against others.

    Args:
        run: A `Run`, the folder of a run (its latest checkpoint is used), the folder of a checkpoint, or
            tcp://HOST:PORT/NAME for a policy on a server.
        opponents: Names of scripted policies, runs, checkpoints, or addresses. The default is all scripted policies of
            the game.
        matches: Number of matches against each opponent. Each seed is played once from every seat.
        seed: Selects the list of matches. The default is the list that training runs use for their final evaluation.
        hosts: Number of host processes. 0 means one per core.
        servers: Number of game servers to start, for games that use servers. The default is that of the run.
        options: Options of the game that override those of the checkpoint. A checkpoint from elsewhere cannot name a
            module, program or path (docs/security.md); name them here.
        sample: True: draw the actions of the agent, and of agents it plays, from their policies. False: take their most
            likely actions. None: as the agent's run does in its evaluations (`evaluation.sample`). A policy on a server
            plays as its address says.
        save_replays: Folder for a few saved matches, which `ludus replay` shows.
        progress: Called after each match.
        metrics: Receives the time that each activity took.
        think_ms: Milliseconds of search before each decision of the agent, for games that bring a search. 0 means none.

    Returns:
        One result per opponent, with wins, losses, ties and a 95% interval of the win rate.

    Raises:
        CheckpointError: The checkpoint cannot be read or does not fit the game.
        ServingError: A server does not answer, or has a policy for another game.
        UntrustedError: The checkpoint sets an option that only this machine may set.
        ConfigError: An argument is wrong, such as an unknown opponent.
        SetupError: Something that the game needs is missing on this machine.
        FleetError: No host is left to play on.
        EvaluationError: Some matches did not finish, so there is no result.
    """
    resolved = resolve(run, opponents, hosts=hosts, servers=servers, options=options, sample=sample)
    if resolved.game.prepare is not None:
        resolved.game.prepare(resolved.options, lambda step, share: None)
    return play(
        resolved,
        matches,
        seed=seed,
        save_replays=save_replays,
        progress=progress,
        metrics=metrics,
        think_ms=think_ms,
    )


@dataclass(frozen=True, slots=True)
class ResolvedEvaluation:
    """A validated evaluation: the agent, the game, its options and the numbers of processes."""

    agent: AgentSource
    game: Game
    options: msgspec.Struct
    opponents: tuple[str, ...]
    servers: ServersConfig
    cores: int
    hosts: int
    greedy: bool = True


def resolve(
    run: Run | str | Path,
    opponents: Sequence[str] = (),
    *,
    hosts: int = 0,
    servers: int | None = None,
    options: Mapping[str, Any] | None = None,  # Any: options of the game, not yet checked
    sample: bool | None = None,
) -> ResolvedEvaluation:
    """Read a checkpoint and validate the arguments of `evaluate`, without starting a process.

    Returns the evaluation, for `play`. Raises CheckpointError, UntrustedError or ConfigError, as `evaluate` does.
    """
    agent = named_policies.agent_source(_name_of(run))
    game = agent.game()
    usable_cores = cores()
    return ResolvedEvaluation(
        agent,
        game,
        _options(agent, game, options or {}, servers),
        named_opponents(opponents, game),
        _servers(agent, servers),
        usable_cores,
        FleetConfig(hosts=hosts).hosts_on(usable_cores),
        greedy=not (agent.samples if sample is None else sample),
    )


def play(
    resolved: ResolvedEvaluation,
    matches: int,
    *,
    seed: int = SEED,
    save_replays: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    metrics: Metrics | None = None,
    think_ms: float = 0.0,
    tell: Callable[[str], None] | None = None,
) -> list[MatchupResult]:
    """Play the matches of an evaluation and return one result per opponent.

    The arguments are those of `evaluate`; `tell` is called with a line on the search, if there was one. Raises
    ConfigError, SetupError, FleetError or EvaluationError.
    """
    game, agent, teams = resolved.game, resolved.agent.with_search(think_ms), resolved.agent.teams
    playing: list[Policy] = []

    def policies(spec: GameSpec) -> Mapping[str, Policy]:
        """Return the agent and its opponents by name, built for the spec that the hosts sent."""
        rows = resolved.hosts * FleetConfig().matches
        greedy = resolved.greedy
        opponents = {
            name: named_policies.named_policy(name, spec, game, seed=seed, greedy=greedy, rows=rows)
            for name in resolved.opponents
        }
        playing.append(agent.load(spec, game, rows=rows, greedy=greedy, seed=seed))
        return {AGENT: playing[0], **opponents}

    with (
        log_folder.temporary_log_folder("ludus-eval-") as folder,
        game.served(resolved.options, resolved.servers, folder) as served,
    ):
        results = arena.play(
            game,
            served.options,
            policies,
            agent=AGENT,
            opponents=resolved.opponents if agent.seats > 1 else (),
            matches=evenly(matches, teams),
            seed=seed,
            teams=teams,
            log_dir=folder,
            hosts=resolved.hosts,
            fleet=FleetConfig(matches=game.matches_on(served.options, resolved.hosts, FleetConfig().matches)),
            usable_cores=resolved.cores,
            progress=progress,
            save_replays=None if save_replays is None else Path(save_replays),
            metrics=metrics,
        )
    for policy in playing:
        if tell is not None and (line := thinking.summary(policy)):
            tell(line)
        thinking.close(policy)
    return results


def find(run: Run | str | Path) -> Path:
    """Return the folder of a checkpoint: the latest of a run, or `run` itself if it is a checkpoint.

    Raises CheckpointError if there is none.
    """
    return checkpoint.find(agents.path_of(_name_of(run)))


def _name_of(run: Run | str | Path) -> str:
    return str(run.checkpoint or run.folder) if isinstance(run, Run) else str(run)


def _options(
    agent: AgentSource,
    game: Game,
    local: Mapping[str, Any],  # Any: options of the game, not yet checked
    servers: int | None,
) -> msgspec.Struct:
    """Return the game options of an agent, overridden by those of the caller (`local`).

    Raises UntrustedError if the agent sets an option that only the user of this machine may set.
    """
    saved = {name: value for name, value in agent.options.items() if not servers or name not in game.local}
    return check(trust.accept(game, saved, agent.name, local), game.options, f"{agent.name}: options")


def named_opponents(names: Sequence[str], game: Game) -> tuple[str, ...]:
    """Return `names`, or all scripted policies of the game if it is empty. Raises ConfigError for an unknown name."""
    named_policies.refuse_unknown(names, game.players, "--opponents")
    return tuple(names) or tuple(game.scripted)


def _servers(agent: AgentSource, count: int | None) -> ServersConfig:
    """Return the server settings of the agent's run. `count`, if given, replaces the number of servers."""
    section = {} if agent.config is None else agent.config.get("servers", {})
    folder = "" if agent.path is None else f"{agent.path.parent.parent / CONFIG}: "
    servers = check(section, ServersConfig, f"{folder}servers")
    return servers if count is None else msgspec.structs.replace(servers, count=count)
