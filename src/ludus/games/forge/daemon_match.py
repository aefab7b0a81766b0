"""One game on a Forge daemon as a match of the host."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import numpy as np

from ludus.games.forge import daemon_view
from ludus.games.forge.daemon_choices import MOST_OPTIONS, Question, question
from ludus.games.forge.daemon_connection import DaemonConnection, status
from ludus.games.forge.daemon_lines import (
    DaemonError,
    Decision,
    Failure,
    GameResult,
    Note,
    RefusedLine,
    announces_persistence,
)
from ludus.games.forge.daemon_options import DaemonOptions, new_game
from ludus.sdk.match import Turn
from ludus.spec import GameSpec

MOST_UNKNOWN = 100  # lines of a game that are not part of the protocol
MOST_REFUSED = 20  # replies of a game that the daemon did not accept


class Daemons:
    """The addresses of the daemons, which matches take in turn."""

    def __init__(self, addresses: tuple[tuple[str, int], ...], first: int) -> None:
        self._addresses = addresses
        self._next = count(first)
        self._persistent: dict[tuple[str, int], bool] = {}

    def take(self) -> tuple[str, int]:
        return self._addresses[next(self._next) % len(self._addresses)]

    async def require_persistence(self, address: tuple[str, int], silent_s: float) -> None:
        """Raise DaemonError unless the daemon announces that a connection may serve several games."""
        if address not in self._persistent:
            self._persistent[address] = announces_persistence(await status(address, silent_s))
        if not self._persistent[address]:
            raise DaemonError(
                f"the daemon at {address[0]}:{address[1]} does not announce `Persistent: true` in its STATUS; leave "
                "options.persistent out, so that each game has a connection of its own"
            )


class DaemonMatch:
    """Plays both seats of a game from outside or, with `observe`, follows Forge's AI on both."""

    def __init__(self, options: DaemonOptions, spec: GameSpec, daemons: Daemons) -> None:
        self._options, self._spec, self._daemons = options, spec, daemons
        self._connection: DaemonConnection | None = None
        self._question: Question | None = None

    async def start(self, seed: int) -> Turn:
        try:
            return await self._start(seed)
        except BaseException:
            await self.close()  # a connection in the middle of a game is of no use
            raise

    async def advance(self, actions: Mapping[int, int]) -> Turn:
        try:
            return await self._advance(actions)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        self._question = None
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _start(self, seed: int) -> Turn:
        self._names: list[str] = []
        self._last: Question | None = None
        self._failure: Failure | None = None
        self._questions = self._refused = self._unknown = self._unmatched = self._turns = 0
        self._cards_cut = self._options_cut = 0
        if self._connection is None or not self._options.persistent:
            await self.close()
            address = self._daemons.take()
            if self._options.persistent:
                await self._daemons.require_persistence(address, self._options.silent_s)
            self._connection = await DaemonConnection.open(address)
        await self._connection.send(new_game(self._options, seed), self._options.silent_s)
        return await self._next()

    async def _advance(self, actions: Mapping[int, int]) -> Turn:
        ((_, action),) = actions.items()
        assert self._question is not None
        if self._options.observe and action != self._question.demonstrated():
            raise DaemonError("options.observe: only the policy scripted:forge_ai can play what Forge's AI chose")
        self._question.choose(action)
        return await self._next()

    async def _next(self) -> Turn:
        """Answer what is forced, and return the next turn in which something can be chosen, or the end."""
        connection = self._connection
        assert connection is not None
        while True:
            turn = await self._answer(connection)
            if turn is not None:
                return turn
            line = await connection.line(self._options.silent_s)
            match line:
                case Decision():
                    self._begin(line)
                case Failure():
                    self._failure = line
                case RefusedLine():
                    self._refuse(line)
                case GameResult():
                    return await self._end(line)
                case Note():
                    self._unknown += not line.is_known
                    if self._unknown > MOST_UNKNOWN:
                        raise DaemonError(f"sent {self._unknown} unknown lines, the last one {line.text!r}")

    def _begin(self, decision: Decision) -> None:
        names = [player.name for player in decision.game_state.players]
        if self._names and names != self._names:
            raise DaemonError(f"renamed its players from {self._names} to {names} during a game")
        self._names, self._turns = names, decision.turn
        self._question = question(decision)

    async def _answer(self, connection: DaemonConnection) -> Turn | None:
        """Return a turn if the current question has something to choose. Otherwise send its reply."""
        current = self._question
        while current is not None and not current.complete:
            demonstrated = current.demonstrated() if self._options.observe else None
            if len(current.options) == 1:
                current.choose(0)
            elif self._options.observe and demonstrated is None:
                self._unmatched += 1  # nothing to imitate
                break
            else:
                return self._ask(current, demonstrated)
        self._question = None
        if current is not None and not self._options.observe:
            await connection.send(current.reply, self._options.silent_s)
        return None

    def _ask(self, current: Question, demonstrated: int | None) -> Turn:
        self._questions += 1
        self._last = current
        player = current.decision.player
        obs = np.zeros((1, self._spec.obs.nbytes), np.uint8)
        self._cards_cut += daemon_view.write(self._spec, obs[0], current, player)
        self._options_cut += current.options_cut
        if demonstrated is not None:
            daemon_view.demonstrate(obs[0], demonstrated)
        legal = np.arange(MOST_OPTIONS)[None] < len(current.options)
        return Turn((self._names.index(player),), obs, legal, np.zeros(2, np.float32))

    def _refuse(self, refusal: RefusedLine) -> None:
        if not self._names:
            raise DaemonError(f"began no game: {refusal.text}")
        self._refused += 1
        if self._refused > MOST_REFUSED:
            raise DaemonError(f"refused {self._refused} replies, the last one because: {refusal.text}")

    async def _end(self, result: GameResult) -> Turn:
        if not self._options.persistent:
            await self.close()
        failure, last = self._failure, self._last
        if failure is not None and not failure.timeout:
            raise DaemonError(f"reported an error in the game: {failure.text}")
        if last is None:
            raise DaemonError("ended a game in which nothing was to be chosen")
        if result.winner and result.winner not in self._names:
            raise DaemonError(f"names the winner {result.winner!r}, who is not one of {self._names}")
        score = tuple(0.5 if not result.winner else float(name == result.winner) for name in self._names)
        truncated = failure is not None
        obs = np.zeros((2 if truncated else 0, self._spec.obs.nbytes), np.uint8)
        for row, name in zip(obs, self._names, strict=False):
            daemon_view.write(self._spec, row, last.seen_by(name), name)
        facts = {
            "turns": float(self._turns),
            "questions": float(self._questions),
            "replies_refused": float(self._refused),
            "choices_unmatched": float(self._unmatched),
            "cards_cut": float(self._cards_cut),
            "options_cut": float(self._options_cut),
        }
        reward = np.zeros(2, np.float32) if truncated else np.array([2 * each - 1 for each in score], np.float32)
        legal = np.zeros((0, MOST_OPTIONS), np.bool_)
        return Turn((), obs, legal, reward, score, truncated, facts)
