"""A PettingZoo environment as a match, turn-based or parallel. An agent that has died makes no more decisions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.games.environments.faults import EnvironmentFault
from ludus.games.environments.observations import RowWriter
from ludus.games.environments.scores import by_returns
from ludus.games.pettingzoo.loading import Environment
from ludus.games.pettingzoo.seating import Seating, number
from ludus.sdk.match import Turn

SEED_BITS = 31  # seeds of this size are accepted by every generator that environments use
STEPS_UNASKED = 1_000  # consecutive steps of dead agents that count as an error of the environment


class _Match(ABC):
    """Base class of both kinds. The environment is made when the first match starts, and made again after an error."""

    def __init__(
        self, make: Callable[[], Environment], seating: Seating, max_steps: int, environment: Environment | None = None
    ) -> None:
        self._make = make
        self._environment = environment
        self._seating = seating
        self._seat = {agent: seat for seat, agent in enumerate(seating.agents)}
        self._writer = RowWriter(seating.parts, seating.spec.obs)
        self._max_steps = max_steps
        self._steps = 0
        self._returns = np.zeros(len(seating.agents))
        self._earned = np.zeros(len(seating.agents), np.float32)
        self._cut: set[int] = set()  # seats that were truncated
        self._playing = False

    def start(self, seed: int) -> Turn:
        if self._playing:  # the previous match was voided because of a wrong observation
            self._drop()
        self._steps = 0
        self._returns[:] = 0
        self._cut.clear()
        return self._guarded(lambda: self._begin(seed >> (53 - SEED_BITS)))

    def advance(self, actions: Mapping[int, int]) -> Turn:
        self._steps += 1
        return self._guarded(lambda: self._step(actions))

    def close(self) -> None:
        if self._environment is not None:
            self._environment.close()

    @abstractmethod
    def _begin(self, seed: int) -> Turn: ...

    @abstractmethod
    def _step(self, actions: Mapping[int, int]) -> Turn: ...

    @property
    def _out_of_time(self) -> bool:
        return 0 < self._max_steps <= self._steps

    def _guarded(self, play: Callable[[], Turn]) -> Turn:
        self._earned = np.zeros(len(self._seating.agents), np.float32)
        try:
            if self._environment is None:
                self._environment = self._make()
            turn = play()
        except BaseException:
            self._drop()
            raise
        self._playing = not turn.over
        return turn

    def _drop(self) -> None:
        broken, self._environment = self._environment, None
        self._playing = False
        if broken is not None:
            with suppress(Exception):  # it is broken
                broken.close()

    def _earn(self, agent: str, reward: Any) -> None:  # Any: whatever the environment returned
        seat, earned = self._seat[agent], number(reward, agent)
        self._earned[seat] += earned
        self._returns[seat] += earned

    def _asking(self, seats: Sequence[int], observed: Sequence[tuple[Any, Any]]) -> Turn:  # Any: observation, info
        legal = np.array(
            [self._seating.legal(seat, *pair) for seat, pair in zip(seats, observed, strict=True)], np.bool_
        )
        for seat, (observation, _) in zip(seats, observed, strict=True):
            self._writer.write(seat, observation)
        return Turn(tuple(seats), self._writer.rows[list(seats)], legal, self._earned)

    def _over(self) -> Turn:
        """Return the last turn. Truncated seats also get their last observation, to bootstrap from its value."""
        truncated = bool(self._cut)
        nobody: NDArray[np.bool_] = np.zeros((0, self._seating.spec.actions), np.bool_)
        score, facts = by_returns(self._returns.tolist()), {"turns": float(self._steps)}
        out = tuple(seat for seat in range(len(score)) if truncated and seat not in self._cut)
        return Turn((), self._writer.rows, nobody, self._earned, score, truncated, facts, out=out)


class TurnMatch(_Match):
    """An AEC environment: one agent at a time."""

    def _begin(self, seed: int) -> Turn:
        assert self._environment is not None
        self._environment.reset(seed=seed)
        return self._following()

    def _step(self, actions: Mapping[int, int]) -> Turn:
        assert self._environment is not None
        ((seat, action),) = actions.items()
        self._environment.step(self._seating.actions[seat][action])
        return self._following()

    def _following(self) -> Turn:
        """Return the turn of the next agent that must choose. Dead agents are stepped with None, as PettingZoo
        requires."""
        environment = self._environment
        assert environment is not None
        for _ in range(STEPS_UNASKED):
            if not environment.agents:
                return self._over()
            agent = environment.agent_selection
            if agent not in self._seat:
                raise EnvironmentFault(f"agent {agent!r} is none of the possible agents")
            seat = self._seat[agent]
            observation, reward, terminated, truncated, info = environment.last()
            self._earn(agent, reward)
            if not terminated and not truncated and not self._out_of_time:
                return self._asking((seat,), ((observation, info),))
            if not terminated:
                self._cut.add(seat)
                self._writer.write(seat, observation)
            if self._out_of_time:
                return self._stopped()
            environment.step(None)
        raise EnvironmentFault(f"{STEPS_UNASKED:,} agents that are dead were selected one after another")

    def _stopped(self) -> Turn:
        """Return the last turn of a match that reached `max_steps`, with the observations of all living agents."""
        environment = self._environment
        assert environment is not None
        for agent in environment.agents:
            if not environment.terminations[agent] and self._seat[agent] not in self._cut:
                self._earn(agent, environment._cumulative_rewards[agent])
                self._cut.add(self._seat[agent])
                self._writer.write(self._seat[agent], environment.observe(agent))
        return self._over()


class ParallelMatch(_Match):
    """A parallel environment: all living agents choose at once."""

    def _begin(self, seed: int) -> Turn:
        assert self._environment is not None
        answer = self._environment.reset(seed=seed)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            raise EnvironmentFault(f"reset returned a {type(answer).__name__}, expected (observations, infos)")
        return self._living(*answer)

    def _step(self, actions: Mapping[int, int]) -> Turn:
        environment, agents = self._environment, self._seating.agents
        assert environment is not None
        agent_actions = {agents[seat]: self._seating.actions[seat][action] for seat, action in actions.items()}
        answer = environment.step(agent_actions)
        try:
            observations, rewards, terminations, truncations, infos = answer
        except (TypeError, ValueError):
            raise EnvironmentFault(
                f"step returned a {type(answer).__name__}, expected (observations, rewards, terminations, "
                "truncations, infos)"
            ) from None
        for agent, reward in rewards.items():
            self._earn(agent, reward)
        for agent in agent_actions:
            stopped = truncations.get(agent, False) or self._out_of_time
            if stopped and not terminations.get(agent, False):
                self._cut.add(self._seat[agent])
                self._writer.write(self._seat[agent], observations[agent])
        if not environment.agents or self._out_of_time:
            return self._over()
        return self._living(observations, infos)

    def _living(self, observations: Mapping[str, Any], infos: Mapping[str, Any]) -> Turn:  # Any: as above
        assert self._environment is not None
        strangers = [agent for agent in self._environment.agents if agent not in self._seat]
        if strangers:
            raise EnvironmentFault(f"agent {strangers[0]!r} is none of the possible agents")
        seats = sorted(self._seat[agent] for agent in self._environment.agents)
        living = [self._seating.agents[seat] for seat in seats]
        missing = [agent for agent in living if agent not in observations]
        if missing:
            raise EnvironmentFault(f"agent {missing[0]!r} lives and has no observation")
        return self._asking(seats, [(observations[agent], infos.get(agent)) for agent in living])
