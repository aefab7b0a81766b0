"""A policy server for bench_serving.py, without the command line: prints its address, and serves until SIGTERM.

python serving_server.py RUN MAX_BATCH MAX_WAIT_MS
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[2] / "src"))  # behind the installed package and PYTHONPATH

from ludus.games import checkpoint_game
from ludus.processes import interrupts, scheduling
from ludus.serving.library import PolicyLibrary
from ludus.serving.policy_sources import sources_of
from ludus.serving.server import Server, ServerSettings


def main(run: str, max_batch: str, max_wait_ms: str) -> None:
    torch.set_num_threads(1)
    scheduling.set_time_slice(scheduling.SHORT_S)
    settings = ServerSettings(max_batch=int(max_batch), max_wait_s=float(max_wait_ms) / 1e3)
    library = PolicyLibrary(sources_of([run]), checkpoint_game)
    with interrupts.handled() as stopped, Server(library, settings) as server:
        for name in library.names:
            library.open(name)
        print(server.address, flush=True)
        server.run(stopped)


if __name__ == "__main__":
    main(*sys.argv[1:])
