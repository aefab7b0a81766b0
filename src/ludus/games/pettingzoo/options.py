"""Options of PettingZoo environments. The first is the text after the colon in `pettingzoo:connect_four_v3`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from ludus.games.environments.pace import Stepping


class PettingZooOptions(Struct, frozen=True, forbid_unknown_fields=True):
    env: str = "connect_four_v3"  # also classic.connect_four_v3, mpe2.simple_tag_v3, or module:function of your own
    kwargs: dict[str, Any] = field(default_factory=dict)  # Any: arguments of the environment
    api: Literal["auto", "aec", "parallel"] = "auto"  # auto: parallel where the environment offers it
    max_steps: Annotated[int, Meta(ge=0)] = 10_000  # a longer match is truncated; 0: no limit
    stepping: Stepping = "auto"  # auto: threads if a short measurement shows that steps mostly wait
    step_deadline_s: Annotated[float, Meta(gt=0.0)] = 20.0  # of a step or reset in a thread; then the match is voided
