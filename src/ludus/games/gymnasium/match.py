"""One environment as a match of one seat: an episode is a match, a step is a decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import ConfigError
from ludus.games.environments.actions import FlatActions
from ludus.games.environments.faults import EnvironmentFault
from ludus.games.environments.observations import MASK, Part, RowWriter, has_mask, mask_in
from ludus.games.gymnasium.loading import Environment
from ludus.hosting.match import Turn
from ludus.spec import GameSpec

SEED_BITS = 31  # what every generator takes that environments seed
UNDECIDED = 0.5  # the score of an episode that says nothing about success
SUCCESS = ("is_success", "success")  # keys of the last info that do


class EpisodeMatch:
    """Makes its environment when it first starts, and another after a fault: nothing is known of a broken one."""

    def __init__(
        self,
        make: Callable[[], Environment],
        spec: GameSpec,
        parts: tuple[Part, ...],
        actions: FlatActions,
        max_steps: int,
        environment: Environment | None = None,
    ) -> None:
        self._make = make
        self._environment = environment
        self._writer = RowWriter((parts,), spec.obs)
        self._actions = actions
        self._all = np.ones((1, spec.actions), np.bool_)
        self._max_steps = max_steps
        self._masked_by: Callable[[Any, Any], Any] = _no_mask  # Any: whatever the environment returned
        self._steps = 0
        self._return = 0.0
        self._playing = False

    def start(self, seed: int) -> Turn:
        if self._playing:  # the match before was lost for what the environment showed
            self._drop()
        self._steps, self._return = 0, 0.0
        try:
            if self._environment is None:
                self._environment = self._make()
            self._masked_by = _mask_of(self._environment)
            answer = self._environment.reset(seed=seed >> (53 - SEED_BITS))
            if not (isinstance(answer, tuple) and len(answer) == 2):
                raise EnvironmentFault(f"reset returned {_seen(answer)}, expected (observation, info)")
            return self._asking(answer[0], answer[1], np.zeros(1, np.float32))
        except BaseException:
            self._drop()
            raise

    def advance(self, actions: Mapping[int, int]) -> Turn:
        assert self._environment is not None
        try:
            answer = self._environment.step(self._actions[actions[0]])
            try:
                observation, reward, terminated, truncated, info = answer
            except (TypeError, ValueError):
                raise EnvironmentFault(
                    f"step returned {_seen(answer)}, expected (observation, reward, terminated, truncated, info)"
                ) from None
            self._steps += 1
            earned = _number(reward)
            self._return += earned
            if terminated or truncated or self._steps == self._max_steps:
                return self._over(observation, earned, info, bool(terminated))
            return self._asking(observation, info, np.array((earned,), np.float32))
        except BaseException:
            self._drop()
            raise

    def close(self) -> None:
        if self._environment is not None:
            self._environment.close()

    def _asking(self, observation: Any, info: Any, reward: NDArray[np.float32]) -> Turn:  # Any: as above
        mask = self._masked_by(observation, info)
        legal = self._all if mask is None else self._actions.legal(mask)[None]
        self._writer.write(0, observation)
        self._playing = True
        return Turn((0,), self._writer.rows, legal, reward)

    def _over(self, observation: Any, earned: float, info: Any, terminated: bool) -> Turn:  # Any: as above
        """A limit is no end: the value of the state in which it stopped belongs to what was earned."""
        if not terminated:
            self._writer.write(0, observation)
        self._playing = False
        score = next((float(bool(info[key])) for key in SUCCESS if isinstance(info, dict) and key in info), UNDECIDED)
        facts = {"turns": float(self._steps), "return": self._return}
        reward = np.array((earned,), np.float32)
        return Turn((), self._writer.rows, self._all[:0], reward, (score,), not terminated, facts)

    def _drop(self) -> None:
        broken, self._environment = self._environment, None
        self._playing = False
        if broken is not None:
            with suppress(Exception):  # it is broken
                broken.close()


def probe(make: Callable[[], Environment], where: str) -> Environment:
    """The first environment, whose spaces describe all."""
    environment = make()
    for name in ("observation_space", "action_space"):
        if getattr(environment, name) is None:
            raise ConfigError(f"{where}: its {name} is None; set it in __init__")
    return environment


def _mask_of(environment: Environment) -> Callable[[Any, Any], Any]:  # Any: whatever the environment returned
    """Where this environment says which actions are legal: its observation, a method of its own, or the info."""
    if has_mask(environment.observation_space):
        return lambda observation, info: mask_in(observation)
    method = getattr(environment.unwrapped, "action_masks", None)
    if callable(method):
        return lambda observation, info: method()
    return lambda observation, info: info.get(MASK) if isinstance(info, dict) else None


def _no_mask(observation: Any, info: Any) -> Any:  # Any: as above
    return None


def _number(reward: Any) -> float:  # Any: as above
    try:
        return float(reward)
    except (TypeError, ValueError):
        raise EnvironmentFault(f"the reward is {_seen(reward)}, expected a number") from None


def _seen(value: Any) -> str:  # Any: as above
    if isinstance(value, tuple):
        return f"{len(value)} values"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
