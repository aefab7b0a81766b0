"""Options of Gymnasium environments. The first is what stands behind the colon in `gymnasium:CartPole-v1`."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field

from ludus.games.environments.pace import Stepping


class GymnasiumOptions(Struct, frozen=True, forbid_unknown_fields=True):
    env: str = "CartPole-v1"  # an id that Gymnasium knows, or module:Class; a module may lie in the current folder
    kwargs: dict[str, Any] = field(default_factory=dict)  # Any: handed to the environment
    max_steps: Annotated[int, Meta(ge=0)] = 10_000  # of a match that does not end by itself: truncated. 0: no limit
    stepping: Stepping = "auto"  # auto: a short measurement says whether steps wait, and so gain from threads
    step_deadline_s: Annotated[float, Meta(gt=0.0)] = 20.0  # for a step or reset in a thread; then the match is lost
