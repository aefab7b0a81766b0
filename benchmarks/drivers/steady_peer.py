"""poke-env's random players with a set number of battles at a time, on a server that runs already.

Usage: steady_peer.py FORMAT PORT CONCURRENCY PAIRS. The battles are shared among pairs of players in one process; the
first measurement tries every number of pairs ("1,2") and keeps the best. What is counted begins and ends while as many
battles are under way as there may be: neither the first battles nor the last ones count.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.drivers.lines import Answer, answer_requests
from benchmarks.drivers.peer import DEADLINE_S, Pair

POLL_S = 0.05
FIRST_GUESS = 5.0  # battles a second


class Players:
    """Pairs of players with `concurrency` battles between them."""

    def __init__(self, battle_format: str, port: int, concurrency: int, pairs: int) -> None:
        self.concurrency = concurrency
        self.pairs = [Pair(1, port, battle_format, concurrency // pairs) for _ in range(pairs)]
        self._battles_per_s = FIRST_GUESS

    @property
    def decisions(self) -> int:
        return sum(pair.decisions for pair in self.pairs)

    @property
    def finished(self) -> int:
        return sum(pair.players[0].finished for pair in self.pairs)

    async def play(self, seconds: float) -> Answer:
        battles = max(self.concurrency, round(self._battles_per_s * seconds))
        share = -(-(battles + 2 * self.concurrency) // len(self.pairs))
        opponents = [pair.players for pair in self.pairs]
        playing = [asyncio.create_task(first.battle_against(second, n_battles=share)) for first, second in opponents]
        until = time.monotonic() + 4 * seconds + DEADLINE_S
        await self._reach(self.finished + self.concurrency, playing, until)
        begin, cpu_s = time.perf_counter(), time.process_time()
        decisions, finished = self.decisions, self.finished
        await self._reach(finished + battles, playing, until)
        answer = {
            "decisions": self.decisions - decisions,
            "battles": self.finished - finished,
            "seconds": time.perf_counter() - begin,
            "cpu_s": time.process_time() - cpu_s,
        }
        self._battles_per_s = answer["battles"] / answer["seconds"]
        await asyncio.gather(*playing)
        for player in (player for pair in self.pairs for player in pair.players):
            player.reset_battles()  # type: ignore[no-untyped-call]  # they would pile up and slow the peer down
        return {**answer, "pairs": len(self.pairs)}

    async def _reach(self, finished: int, playing: Sequence[asyncio.Task[None]], until: float) -> None:
        while self.finished < finished:
            if all(task.done() for task in playing) or time.monotonic() > until:
                raise RuntimeError(f"the peer finished {self.finished} of {finished} battles and stopped")
            await asyncio.sleep(POLL_S)


class Best:
    """The fastest of several numbers of pairs, selected by the first measurement."""

    def __init__(self, ways: Sequence[Players]) -> None:
        self._ways = list(ways)

    def measure(self, seconds: float) -> Answer:
        share_s = seconds / len(self._ways)
        answers = {way: asyncio.run(way.play(share_s)) for way in self._ways}
        best = max(answers, key=lambda way: answers[way]["decisions"] / answers[way]["seconds"])
        self._ways = [best]
        return answers[best]


def main(battle_format: str, port: str, concurrency: str, pairs: str) -> None:
    ways = [Players(battle_format, int(port), int(concurrency), int(each)) for each in pairs.split(",")]
    for pair in (pair for way in ways for pair in way.pairs):
        pair.log_in()
    answer_requests(Best(ways).measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
