"""A battle worker of `ludus bench serve`: plays its share of the matches with one policy, in a process of its own.

Reads one JSON line (`Share`) from stdin, prints `{"ready": true}`, waits for any second line, and plays. Prints
`{"ended": n}` about twice a second and its `ShareResult` at the end.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping

import msgspec
import torch

from ludus.config.settings import FleetConfig
from ludus.config.validation import check
from ludus.evaluation import arena
from ludus.evaluation.arena import Progress
from ludus.games import named_policies, trust
from ludus.games.named_policies import AgentSource
from ludus.games.registry import Game
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.metrics.times import ACTOR
from ludus.processes import log_folder, scheduling
from ludus.spec import GameSpec
from ludus.types import Policy

AGENT = "agent"
TELL_S = 0.5


class Share(msgspec.Struct, frozen=True):
    """The task of one worker."""

    agent: str  # a checkpoint or an address
    opponent: str
    matches: int
    seed: int
    hosts: int
    concurrency: int  # matches at a time on each host
    deadline_s: float


class ShareResult(msgspec.Struct, frozen=True):
    """The results of one worker. Times are those of the monotonic clock, which all processes of a machine share."""

    matches: int
    wins: int
    losses: int
    ties: int
    decisions: int  # of the agent
    invalid: int  # actions that the simulator refused
    voided: int
    begin_s: float
    end_s: float
    policy_p50_ms: float  # of a call of the policy, as the worker waits for it
    policy_p95_ms: float


def game_of(agent: AgentSource) -> tuple[Game, msgspec.Struct]:
    """Return the game of an agent, and its checked options. Raises ConfigError and UntrustedError."""
    game = agent.game()
    return game, check(trust.accept(game, agent.options, agent.name), game.options, f"{agent.name}: options")


def play(share: Share) -> ShareResult:
    """Play a share of the matches. Raises the errors of `arena.play`."""
    torch.set_num_threads(1)
    scheduling.set_time_slice(scheduling.SHORT_S)  # its hosts wait for this process
    agent = named_policies.agent_source(share.agent)
    game, options = game_of(agent)
    metrics, began_s, told_s = Metrics(ACTOR), 0.0, time.monotonic()
    rows = share.hosts * share.concurrency

    def policies(spec: GameSpec) -> Mapping[str, Policy]:
        nonlocal began_s
        opponent = named_policies.named_policy(share.opponent, spec, game, seed=share.seed)
        loaded = agent.load(spec, game, rows=rows)
        began_s = time.monotonic()
        return {AGENT: loaded, share.opponent: opponent}

    def tell(progress: Progress) -> None:
        nonlocal told_s
        if time.monotonic() - told_s >= TELL_S:
            told_s = time.monotonic()
            _say({"ended": progress.ended})

    with log_folder.temporary_log_folder("ludus-bench-serve-") as folder:
        (result,) = arena.play(
            game,
            options,
            policies,
            agent=AGENT,
            opponents=(share.opponent,),
            matches=share.matches,
            seed=share.seed,
            teams=agent.teams,
            log_dir=folder,
            fleet=FleetConfig(hosts=share.hosts, matches=share.concurrency),
            hosts=share.hosts,
            deadline_s=share.deadline_s,
            progress=tell,
            metrics=metrics,
        )
        end_s = time.monotonic()
    waits = metrics.times().activities[names.POLICIES]
    return ShareResult(
        result.matches,
        result.wins,
        result.losses,
        result.ties,
        result.decisions,
        result.refused,
        result.voided,
        began_s,
        end_s,
        waits.quantile_ns(0.5) / 1e6,
        waits.quantile_ns(0.95) / 1e6,
    )


def main() -> None:
    """Do what the lines on stdin say."""
    share = msgspec.json.decode(sys.stdin.readline(), type=Share)
    _say({"ready": True})
    if sys.stdin.readline():
        _say(msgspec.to_builtins(play(share)))
        sys.stdin.read()  # until the benchmark ends this process: an early end would mean a failure


def _say(line: object) -> None:
    os.write(1, msgspec.json.encode(line) + b"\n")


if __name__ == "__main__":
    main()
