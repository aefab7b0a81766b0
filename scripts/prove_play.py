"""Play a checkpoint against poke-env's players on a real local server, as `ludus play --accept` does.

    python scripts/prove_play.py CHECKPOINT [--format F] [--battles 400] [--opponents simple_heuristics,random] [--save]
    python scripts/prove_play.py gen1-best --battles 1000 --opponents simple_heuristics --save

--save appends one line per opponent to benchmarks/results/play.jsonl and rewrites play.md from the latest lines.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import torch
from poke_env import AccountConfiguration, ServerConfiguration
from poke_env.concurrency import POKE_LOOP
from poke_env.player import MaxBasePowerPlayer, RandomPlayer, SimpleHeuristicsPlayer

from ludus.games import agents
from ludus.games.registry import load, nets_of
from ludus.games.showdown.commands.play import CARRIED
from ludus.games.showdown.play.outsiders import Event, PlayResult, play
from ludus.games.showdown.play_game import PlayOptions
from ludus.games.showdown.servers.fleet import ServerFleet
from ludus.metrics.intervals import wilson
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.checkpoint import State
from ludus.processes.cores import cores
from ludus.run import provenance
from ludus.spec import GameSpec
from ludus.types import Policy

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
PLAYERS = {
    "random": RandomPlayer,
    "max_base_power": MaxBasePowerPlayer,
    "simple_heuristics": SimpleHeuristicsPlayer,
}
BATTLE_S = 10.0  # that one may take on average, all waiting included
FINISH_S = 60.0
numbers = count(1)

Line = dict[str, Any]  # Any: one line of JSON


def main() -> None:
    arguments = _arguments()
    torch.set_num_threads(1)
    path = checkpoint.find(agents.path_of(arguments.checkpoint))
    state = checkpoint.read_state(path)
    kept_options = {key: state.options[key] for key in CARRIED if key in state.options}
    options = PlayOptions(**kept_options | ({"format": arguments.format} if arguments.format else {}))
    lines = []
    with ServerFleet(1) as fleet:
        for opponent in arguments.opponents.split(","):
            agent = partial(checkpoint.load_agent, path, game_nets=nets_of(load("showdown")))
            result = against(
                opponent,
                agent,
                fleet.addresses()[0],
                options,
                arguments.battles,
                arguments.concurrency,
                _progress(opponent),
            )
            line = line_of(opponent, options.format, result)
            lines.append({"checkpoint": name_of(path, state), **_where(), **line})
            print(json.dumps(lines[-1]), flush=True)
    if arguments.save:
        keep(lines, RESULTS)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="folder of a run or of a checkpoint, or an agent of `ludus agents`")
    parser.add_argument("--format", default="", help="battle format; default: that of the checkpoint")
    parser.add_argument("--battles", type=int, default=400, help="battles against each opponent (400)")
    parser.add_argument("--concurrency", type=int, default=8, help="concurrent battles (8)")
    parser.add_argument("--opponents", default=",".join(PLAYERS), help="players of poke-env, separated by commas")
    parser.add_argument("--save", action="store_true", help="store the result in benchmarks/results")
    return parser.parse_args()


def against(
    opponent: str,
    agent: Callable[[GameSpec], Policy],
    server: str,
    options: PlayOptions,
    battles: int,
    concurrency: int,
    show: Callable[[PlayResult], None] | None = None,
) -> PlayResult:
    """Let a poke-env player challenge the agent. Raises RuntimeError if both sides count different results."""
    number = next(numbers)
    name = f"Agent {number}"
    player = _player(PLAYERS[opponent], f"Peer {number}", server, options.format, concurrency)
    challenging: list[Future[None]] = []

    def challenge(event: Event) -> None:
        if event["event"] == "connected" and not challenging:
            challenging.append(asyncio.run_coroutine_threadsafe(player.send_challenges(name, battles), POKE_LOOP))

    with tempfile.TemporaryDirectory(prefix="ludus-prove-") as logs:
        result = play(
            agent,
            msgspec.structs.replace(options, server=server, name=name, mode="accept"),
            log_dir=Path(logs),
            matches=battles,
            concurrency=concurrency,
            deadline_s=FINISH_S + BATTLE_S * battles,
            show=show,
            tell=challenge,
        )
    if result.stopped:
        raise RuntimeError(f"after {result.total.battles} of {battles} battles: {result.stopped}")
    for each in challenging:
        each.result(FINISH_S)
    asyncio.run_coroutine_threadsafe(player.ps_client.stop_listening(), POKE_LOOP).result(FINISH_S)
    results = (player.n_lost_battles, player.n_won_battles, player.n_tied_battles)
    if results != (result.total.wins, result.total.losses, result.total.ties):
        raise RuntimeError(f"poke-env saw {results} lost, won and tied, the agent {result.total}")
    return result


def _player(kind: type, name: str, server: str, battle_format: str, concurrency: int) -> Any:  # Any: no types
    return kind(
        account_configuration=AccountConfiguration(name, None),
        server_configuration=ServerConfiguration(server, ""),
        battle_format=battle_format,
        max_concurrent_battles=concurrency,
        open_timeout=FINISH_S,
        ping_interval=None,  # a ping that is late on a busy machine would end the connection
        ping_timeout=None,
        log_level=logging.CRITICAL,
    )


def name_of(path: Path, state: State) -> str:
    """Return the name of the run's folder, and the updates and minutes of the checkpoint."""
    return f"{path.parents[1].name}, {state.version:,} updates in {state.training_s / 60:.1f} min"


def line_of(opponent: str, battle_format: str, result: PlayResult) -> Line:
    total = result.total
    return {
        "format": battle_format,
        "opponent": f"poke-env {opponent}",
        "battles": total.battles,
        "wins": total.wins,
        "losses": total.losses,
        "ties": total.ties,
        "interval": [round(end, 4) for end in wilson(total.wins, total.battles)],
        "decisions": result.decisions,
        "turns": result.turns,
        "invalid": result.invalid,
        "refused": result.refused,
        "reconnects": result.reconnects,
        "voided": dict(result.voided),
        "unplayed": dict(result.unplayed),
        "seconds": round(result.seconds, 1),
    }


def keep(lines: list[Line], folder: Path) -> None:
    with (folder / "play.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    saved_lines = [json.loads(line) for line in (folder / "play.jsonl").read_text(encoding="utf-8").splitlines()]
    (folder / "play.md").write_text(page(saved_lines), encoding="utf-8")


def page(lines: list[Line]) -> str:
    """Return a page with the latest result of each agent against each opponent."""
    latest: dict[tuple[str, ...], Mapping[str, Any]] = {
        (line["format"], line["opponent"], line["checkpoint"].partition(",")[0]): line for line in lines
    }
    rows = [
        "# Agents against poke-env's players on a local Showdown server",
        "",
        "Written by `scripts/prove_play.py` from play.jsonl. A tie is no win. Intervals are Wilson's, 95%.",
        "",
        "| format | opponent | win rate | 95% interval | won | lost | tied | invalid choices | made again | void "
        "| agent |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for _, line in sorted(latest.items()):
        low, high = line["interval"]
        missing = sum(line["voided"].values()) + sum(line["unplayed"].values())
        rows.append(
            f"| {line['format']} | {line['opponent']} | {line['wins'] / line['battles']:.1%} | {low:.1%} to {high:.1%} "
            f"| {line['wins']} | {line['losses']} | {line['ties']} | {line['invalid']} | {line['refused']} | {missing} "
            f"| {line['checkpoint']} ({line['commit']}) |"
        )
    return "\n".join(rows) + "\n"


def _where() -> Line:
    here = provenance.here(cores())
    return {"commit": here.commit, "machine": {"cores": here.cores, "system": here.system}}


def _progress(opponent: str) -> Callable[[PlayResult], None]:
    printed_battles = 0

    def show(result: PlayResult) -> None:
        nonlocal printed_battles
        if result.total.battles >= printed_battles + 20:
            printed_battles = result.total.battles
            print(f"{opponent}: {result.total}, {result.seconds:.0f} s", file=sys.stderr, flush=True)

    return show


if __name__ == "__main__":
    main()
