"""Environments as matches of one seat: an episode is a match, a step is a decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import ConfigError
from ludus.games.environments.actions import FlatActions
from ludus.games.environments.faults import EnvironmentFault
from ludus.games.environments.observations import MASK, Part, RowWriter, has_mask, mask_in
from ludus.games.gymnasium.loading import Environment
from ludus.sdk.match import GroupTurn, Turn
from ludus.spec import GameSpec

SEED_BITS = 31  # seeds of this size are accepted by every generator that environments use
UNDECIDED = 0.5  # the score of an episode whose info does not report success
SUCCESS = ("is_success", "success")  # keys of the last info that report success


@dataclass(frozen=True, slots=True)
class EnvKind:
    """The data that all environments of a host share."""

    make: Callable[[], Environment]
    spec: GameSpec
    parts: tuple[Part, ...]
    actions: FlatActions
    max_steps: int  # 0: no limit


class Episode:
    """One environment. It is made when the first match begins, and made again after an error.

    Observations are written into the row of its seat, the action mask into `legal` [A].
    """

    def __init__(
        self,
        kind: EnvKind,
        writer: RowWriter,
        seat: int,
        legal: NDArray[np.bool_],
        environment: Environment | None = None,
    ) -> None:
        self._kind = kind
        self._environment = environment
        self._writer, self._seat, self._legal = writer, seat, legal
        self._masked_by: Callable[[Any, Any], Any] = _no_mask  # Any: whatever the environment returned
        self._masked = False
        self._steps = 0
        self._return = 0.0
        self._playing = False
        legal[:] = True

    def begin(self, seed: int) -> None:
        if self._playing:  # the previous match was voided because of a wrong observation
            self._drop()
        self._steps, self._return = 0, 0.0
        try:
            if self._environment is None:
                self._environment = self._kind.make()
            self._masked_by = _mask_of(self._environment)
            answer = self._environment.reset(seed=seed >> (53 - SEED_BITS))
            if not (isinstance(answer, tuple) and len(answer) == 2):
                raise EnvironmentFault(f"reset returned {_described(answer)}, expected (observation, info)")
            self._show(*answer)
        except BaseException:
            self._drop()
            raise
        self._playing = True

    def step(self, action: int) -> float | Turn:
        """Take one step. Returns the reward, or the last turn of the match if the episode ended. Raises
        EnvironmentFault."""
        assert self._environment is not None
        try:
            answer = self._environment.step(self._kind.actions[action])
            try:
                observation, reward, terminated, truncated, info = answer
            except (TypeError, ValueError):
                raise EnvironmentFault(
                    f"step returned {_described(answer)}, expected (observation, reward, terminated, truncated, info)"
                ) from None
            self._steps += 1
            earned = _number(reward)
            self._return += earned
            if terminated or truncated or self._steps == self._kind.max_steps:
                return self._over(observation, earned, info, bool(terminated))
            self._show(observation, info)
            return earned
        except BaseException:
            self._drop()
            raise

    def close(self) -> None:
        if self._environment is not None:
            self._environment.close()

    def _show(self, observation: Any, info: Any) -> None:  # Any: as above
        mask = self._masked_by(observation, info)
        if mask is not None:
            self._legal[:] = self._kind.actions.legal(mask)
            self._masked = True
        elif self._masked:
            self._legal[:] = True
            self._masked = False
        self._writer.write(self._seat, observation)

    def _over(self, observation: Any, earned: float, info: Any, terminated: bool) -> Turn:  # Any: as above
        """Return the last turn. A truncated episode also gets its last observation, to bootstrap from its value."""
        if not terminated:
            self._writer.write(self._seat, observation)
        self._playing = False
        score = next((float(bool(info[key])) for key in SUCCESS if isinstance(info, dict) and key in info), UNDECIDED)
        facts = {"turns": float(self._steps), "return": self._return}
        last, reward = self._writer.rows[self._seat : self._seat + 1].copy(), np.array((earned,), np.float32)
        return Turn((), last, self._legal[None][:0], reward, (score,), not terminated, facts)

    def _drop(self) -> None:
        broken, self._environment = self._environment, None
        self._playing = False
        if broken is not None:
            with suppress(Exception):  # it is broken
                broken.close()


class EpisodeMatch:
    """One environment as a match, for hosts that run each environment in its own thread."""

    def __init__(self, kind: EnvKind, environment: Environment | None = None) -> None:
        self._rows = RowWriter((kind.parts,), kind.spec.obs)
        self._legal = np.ones((1, kind.spec.actions), np.bool_)
        self._episode = Episode(kind, self._rows, 0, self._legal[0], environment)

    def start(self, seed: int) -> Turn:
        self._episode.begin(seed)
        return self._asking(0.0)

    def advance(self, actions: Mapping[int, int]) -> Turn:
        became = self._episode.step(actions[0])
        return became if isinstance(became, Turn) else self._asking(became)

    def close(self) -> None:
        self._episode.close()

    def _asking(self, earned: float) -> Turn:
        return Turn((0,), self._rows.rows, self._legal, np.array((earned,), np.float32))


class EpisodeGroup:
    """All environments of a host, stepped in sequence. Their observations are rows of one array."""

    def __init__(self, kind: EnvKind, slots: int, environment: Environment | None = None) -> None:
        self._rows = RowWriter((kind.parts,) * slots, kind.spec.obs)
        self._legal = np.ones((slots, kind.spec.actions), np.bool_)
        first = [environment, *(None for _ in range(slots - 1))]
        self._episodes = [Episode(kind, self._rows, slot, self._legal[slot], each) for slot, each in enumerate(first)]

    def start(self, slots: Sequence[int], seeds: Sequence[int]) -> GroupTurn:
        failures: dict[int, BaseException] = {}
        for place, (slot, seed) in enumerate(zip(slots, seeds, strict=True)):
            try:
                self._episodes[slot].begin(seed)
            except Exception as error:  # an environment may raise anything
                failures[place] = error
        return self._turn(slots, np.zeros((len(slots), 1), np.float32), {}, failures)

    def advance(self, slots: Sequence[int], actions: NDArray[np.int32]) -> GroupTurn:
        reward = np.zeros((len(slots), 1), np.float32)
        over: dict[int, Turn] = {}
        failures: dict[int, BaseException] = {}
        earned = [0.0] * len(slots)
        for place, (slot, action) in enumerate(zip(slots, actions[:, 0].tolist(), strict=True)):
            try:
                became = self._episodes[slot].step(action)
            except Exception as error:  # as above
                failures[place] = error
                continue
            if isinstance(became, Turn):
                over[place] = became
            else:
                earned[place] = became
        reward[:, 0] = earned
        return self._turn(slots, reward, over, failures)

    def close(self) -> None:
        for episode in self._episodes:
            episode.close()

    def _turn(
        self,
        slots: Sequence[int],
        reward: NDArray[np.float32],
        over: Mapping[int, Turn],
        failures: Mapping[int, BaseException],
    ) -> GroupTurn:
        where = list(slots)
        return GroupTurn(self._rows.rows[where][:, None], self._legal[where][:, None], reward, over, failures)


def probe(make: Callable[[], Environment], where: str) -> Environment:
    """Make the first environment, whose spaces apply to all. Raises ConfigError if one of its spaces is None."""
    environment = make()
    for name in ("observation_space", "action_space"):
        if getattr(environment, name) is None:
            raise ConfigError(f"{where}: its {name} is None; set it in __init__")
    return environment


def _mask_of(environment: Environment) -> Callable[[Any, Any], Any]:  # Any: whatever the environment returned
    """Return a function (observation, info) -> mask. It reads the observation, the method `action_masks` or the info,
    whichever the environment provides."""
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
        raise EnvironmentFault(f"the reward is {_described(reward)}, expected a number") from None


def _described(value: Any) -> str:  # Any: as above
    if isinstance(value, tuple):
        return f"{len(value)} values"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
