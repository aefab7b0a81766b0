"""Options of Gymnasium environments. The first is the text after the colon in `gymnasium:CartPole-v1`."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field

from ludus.games.environments.pace import Stepping


class GymnasiumOptions(Struct, frozen=True, forbid_unknown_fields=True):
    env: str = "CartPole-v1"  # an id that Gymnasium knows, or module:Class; a module may lie in the current folder
    kwargs: dict[str, Any] = field(default_factory=dict)  # Any: arguments of the environment
    max_steps: Annotated[int, Meta(ge=0)] = 10_000  # a longer match is truncated; 0: no limit
    stepping: Stepping = "auto"  # auto: threads if a short measurement shows that steps mostly wait
    step_deadline_s: Annotated[float, Meta(gt=0.0)] = 20.0  # of a step or reset in a thread; then the match is voided
