"""Options of PettingZoo environments. The first is what stands behind the colon in `pettingzoo:connect_four_v3`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from ludus.games.environments.pace import Stepping


class PettingZooOptions(Struct, frozen=True, forbid_unknown_fields=True):
    env: str = "connect_four_v3"  # also classic.connect_four_v3, mpe2.simple_tag_v3, or module:function of your own
    kwargs: dict[str, Any] = field(default_factory=dict)  # Any: handed to the environment
    api: Literal["auto", "aec", "parallel"] = "auto"  # auto: parallel where the environment offers it
    max_steps: Annotated[int, Meta(ge=0)] = 10_000  # of a match that does not end by itself: truncated. 0: no limit
    stepping: Stepping = "auto"  # auto: a short measurement says whether steps wait, and so gain from threads
    step_deadline_s: Annotated[float, Meta(gt=0.0)] = 20.0  # for a step or reset in a thread; then the match is lost
