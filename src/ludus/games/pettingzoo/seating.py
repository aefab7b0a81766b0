"""Map the agents of an environment to seats that share one row layout and one action set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import ConfigError
from ludus.games.environments.actions import FlatActions
from ludus.games.environments.faults import EnvironmentFault
from ludus.games.environments.observations import MASK, Part, has_mask, mask_in, packed_together, parts_of
from ludus.games.pettingzoo.loading import Environment
from ludus.spec import GameSpec

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Seating:
    """The possible agents in order, one seat each. Absent agents are never asked to choose."""

    spec: GameSpec
    agents: tuple[str, ...]
    parts: tuple[tuple[Part, ...], ...]  # of each seat
    actions: tuple[FlatActions, ...]
    masked: tuple[bool, ...]  # its observation holds a mask

    @classmethod
    def of(cls, environment: Environment, name: str) -> Seating:
        """Return the seating of an environment. Raises ConfigError for spaces that are not supported."""
        where = f"pettingzoo:{name}"
        agents = tuple(getattr(environment, "possible_agents", None) or ())
        if not agents:
            raise ConfigError(f"{where}: it names no possible_agents, so nobody knows how many seats there are")
        spaces = [environment.observation_space(agent) for agent in agents]
        parts = tuple(parts_of(space, f"{where}, {agent}") for agent, space in zip(agents, spaces, strict=True))
        actions = tuple(FlatActions(environment.action_space(agent), f"{where}, {agent}") for agent in agents)
        obs = packed_together(parts, where)
        count = max(each.count for each in actions)
        spec = GameSpec(f"pettingzoo/{name}", len(agents), count, obs, SCHEMA, {"agents": list(agents)})
        return cls(spec, agents, parts, actions, tuple(has_mask(space) for space in spaces))

    def legal(self, seat: int, observation: Any, info: Any) -> NDArray[np.bool_]:  # Any: what the environment returned
        """Return the mask [A] of a seat. Actions that only other seats have are never legal."""
        info_mask = info.get(MASK) if isinstance(info, dict) else None
        own = self.actions[seat].legal(mask_in(observation) if self.masked[seat] else info_mask)
        if len(own) == self.spec.actions:
            return own
        legal = np.zeros(self.spec.actions, np.bool_)
        legal[: len(own)] = own
        return legal


def number(reward: Any, agent: str) -> float:  # Any: as above
    try:
        return float(reward)
    except (TypeError, ValueError):
        raise EnvironmentFault(f"the reward of {agent} is {reward!r}, expected a number") from None
