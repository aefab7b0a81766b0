"""poke-env's random players against each other over a real Showdown server, as people train on Showdown today.

Usage: peer.py FORMAT CONCURRENCIES [SERVERS]. The first measurement tries every concurrency ("8,16") on every kind of
server ("0,1", see SERVERS) and keeps the fastest.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

from poke_env import AccountConfiguration, RandomPlayer, ServerConfiguration

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.drivers.lines import Answer, answer_requests
from benchmarks.showdown_server import serve

from ludus.games.showdown import install

SERVERS = (  # processes, and the setting that makes them; nothing that no battle needs
    (1, "0"),
    (
        3,
        "{network: 1, simulator: 1, validator: 0, verifier: 0, localartemis: 0, remoteartemis: 0, battlesearch: 0, "
        "datasearch: 0, friends: 0, chatdb: 0, pm: 0, modlog: 0}",
    ),
)
DEADLINE_S = 60.0  # beyond the time asked for


class CountingPlayer(RandomPlayer):
    """Counts the requests it answers and the battles it finishes."""

    decisions = 0
    finished = 0

    def choose_move(self, battle: Any) -> Any:  # Any: poke-env has no types
        self.decisions += 1
        return super().choose_move(battle)

    def teampreview(self, battle: Any) -> Any:  # Any: poke-env has no types
        self.decisions += 1
        return super().teampreview(battle)

    def _battle_finished_callback(self, battle: Any) -> None:  # Any: poke-env has no types
        self.finished += 1


class Pair:
    """Two players with up to `concurrency` battles between them at a time."""

    names = count()

    def __init__(self, processes: int, port: int, battle_format: str, concurrency: int) -> None:
        self.processes = processes
        self.concurrency = concurrency
        self.battles_per_s = 5.0
        self.players = [self._player(port, battle_format) for _ in range(2)]

    def _player(self, port: int, battle_format: str) -> CountingPlayer:
        address = ServerConfiguration(f"ws://127.0.0.1:{port}/showdown/websocket", "")
        return CountingPlayer(
            account_configuration=AccountConfiguration(f"peer {next(Pair.names)}", None),
            server_configuration=address,
            battle_format=battle_format,
            max_concurrent_battles=self.concurrency,
            open_timeout=DEADLINE_S,
            ping_interval=None,  # a ping that is late on a busy machine would end the connection
            ping_timeout=None,
            log_level=logging.CRITICAL,
        )

    def log_in(self) -> None:
        """Wait until both players are logged in."""
        until = time.monotonic() + DEADLINE_S
        while not all(player.ps_client.logged_in.is_set() for player in self.players):
            if time.monotonic() > until:
                raise RuntimeError(f"the server did not log the peer's players in within {DEADLINE_S:.0f} s")
            time.sleep(0.05)

    async def play(self, seconds: float) -> Answer:
        """Play for about `seconds`. The phase in which the last battles run out is not counted."""
        first, second = self.players
        battles = max(self.concurrency, round(self.battles_per_s * seconds))
        begin, decisions, finished = time.perf_counter(), self.decisions, first.finished
        playing = asyncio.create_task(first.battle_against(second, n_battles=battles + self.concurrency))
        while first.finished - finished < battles:
            if playing.done() or time.perf_counter() - begin > 4 * seconds + DEADLINE_S:
                raise RuntimeError(f"the peer finished {first.finished - finished} of {battles} battles and stopped")
            await asyncio.sleep(0.01)
        took_s = time.perf_counter() - begin
        answer = {"decisions": self.decisions - decisions, "battles": first.finished - finished, "seconds": took_s}
        self.battles_per_s = answer["battles"] / took_s
        await playing
        for player in self.players:
            player.reset_battles()  # type: ignore[no-untyped-call]  # they would pile up and slow the peer down
        return {**answer, "concurrency": self.concurrency, "server_processes": self.processes}

    @property
    def decisions(self) -> int:
        return sum(player.decisions for player in self.players)


def main(battle_format: str, concurrencies: str, servers: str = "1") -> None:
    installation, pairs = install.ensure(), []
    with ExitStack() as running:
        for processes, setting in (SERVERS[int(index)] for index in servers.split(",")):
            port = running.enter_context(serve(installation, setting))
            pairs += [Pair(processes, port, battle_format, int(each)) for each in concurrencies.split(",")]
        for pair in pairs:
            pair.log_in()
        answer_requests(Peer(pairs).measure)


class Peer:
    """The fastest of several pairs, selected by the first measurement."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._pairs = list(pairs)

    def measure(self, seconds: float) -> Answer:
        share_s = seconds / len(self._pairs)
        answers = {pair: asyncio.run(pair.play(share_s)) for pair in self._pairs}
        best = max(answers, key=lambda pair: answers[pair]["decisions"] / answers[pair]["seconds"])
        self._pairs = [best]
        return answers[best]


if __name__ == "__main__":
    main(*sys.argv[1:])
