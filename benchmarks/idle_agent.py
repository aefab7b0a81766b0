"""Measure the CPU use of `ludus play --accept`, with all its processes, while nobody challenges it."""

from __future__ import annotations

import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from ludus.config.settings import FleetConfig, PolicyConfig
from ludus.fleet.fleet import HostFleet
from ludus.games.registry import load, nets_of
from ludus.policies import nets
from ludus.policies.checkpoints.archive import Checkpoints
from ludus.policies.checkpoints.checkpoint import State, net_tensors, note_game, table_tensors
from ludus.processes.launch import tied

READY_S = 120.0
SETTLE_S = 5.0  # after which Node has collected what the start left behind
LEAVE_S = 20.0
NAME = "Idle Agent"


def cpu_share(server: str, battle_format: str, *, repeats: int, seconds: float) -> list[float]:
    """Return CPU seconds per second, one sample per repeat."""
    with tempfile.TemporaryDirectory(prefix="ludus-idle-") as folder, _waiting(server, battle_format, folder) as agent:
        time.sleep(SETTLE_S)
        samples = []
        for _ in range(repeats):
            begin, before = time.perf_counter(), _cpu_s(agent)
            time.sleep(seconds)
            samples.append((_cpu_s(agent) - before) / (time.perf_counter() - begin))
        return samples


@contextmanager
def _waiting(server: str, battle_format: str, folder: str) -> Iterator[psutil.Process]:
    checkpoint = untrained(Path(folder), battle_format)
    command = ("ludus", "play", str(checkpoint), "--server", server, "--name", NAME, "--accept")
    agent = subprocess.Popen(tied((sys.executable, "-m", *command)), stdout=subprocess.PIPE)
    try:
        assert agent.stdout is not None
        ready, _, _ = select.select([agent.stdout], [], [], READY_S)
        line = agent.stdout.readline().decode() if ready else ""
        if NAME not in line:
            raise RuntimeError(f"the agent did not log in within {READY_S:.0f} s: {line!r}")
        yield psutil.Process(agent.pid)
    finally:
        agent.send_signal(signal.SIGINT)
        try:
            agent.communicate(timeout=LEAVE_S)
        except subprocess.TimeoutExpired:
            agent.kill()
            agent.communicate()


def untrained(folder: Path, battle_format: str) -> Path:
    """Write a checkpoint of an untrained net and return its path."""
    game, policy = load("showdown"), PolicyConfig()
    options = {"format": battle_format}
    with HostFleet(
        game.command(game.options()), FleetConfig(), options=options, seed=1, log_dir=folder, hosts=1, schedule=[]
    ) as fleet:
        spec = fleet.spec
    net = nets.build(spec, policy, game.net, game_nets=nets_of(game))
    state = State(version=1, game=note_game(spec), options=options, net=game.net, policy=policy)
    return Checkpoints(folder, 1).save(state, {**net_tensors(net), **table_tensors(spec)}, {})


def _cpu_s(agent: psutil.Process) -> float:
    return float(sum(sum(each.cpu_times()[:2]) for each in (agent, *agent.children(recursive=True))))
