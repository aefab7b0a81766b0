"""Opponents from poke-env for tests that play on a real Showdown server, and an agent that has learned nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from typing import Any

from poke_env import AccountConfiguration, RandomPlayer, ServerConfiguration
from poke_env.concurrency import POKE_LOOP

from ludus.config.settings import FleetConfig, PolicyConfig
from ludus.fleet.fleet import HostFleet
from ludus.games.registry import load, nets_of
from ludus.policies import nets
from ludus.policies.checkpoints.archive import Checkpoints
from ludus.policies.checkpoints.checkpoint import State, net_tensors, note_game, table_tensors

DEADLINE_S = 100.0
FORMAT = "gen1randombattle"
numbers = count()


def untrained(folder: Path) -> Path:
    """Write a checkpoint of a net that has learned nothing. Returns its folder."""
    game = load("showdown")
    options = {"format": FORMAT}
    with HostFleet(
        game.command(game.options()), FleetConfig(), options=options, seed=1, log_dir=folder, hosts=1, schedule=[]
    ) as running:
        spec = running.spec
    policy = PolicyConfig()
    net = nets.build(spec, policy, game.net, game_nets=nets_of(game))
    state = State(version=1, game=note_game(spec), options=options, net=game.net, policy=policy)
    return Checkpoints(folder, 1).save(state, {**net_tensors(net), **table_tensors(spec)}, {})


def peer(server: str, *, concurrency: int = 2, **more: Any) -> RandomPlayer:  # Any: poke-env has no types
    settings: dict[str, Any] = {"battle_format": FORMAT, "max_concurrent_battles": concurrency} | more
    return RandomPlayer(
        **settings,
        account_configuration=AccountConfiguration(f"peer {next(numbers)}", None),
        server_configuration=ServerConfiguration(server, ""),
        open_timeout=DEADLINE_S,
        ping_interval=None,
        ping_timeout=None,
        log_level=logging.CRITICAL,
    )


def later(coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:  # Any: poke-env has no types
    """Have poke-env's own thread do it."""
    return asyncio.run_coroutine_threadsafe(coroutine, POKE_LOOP)
