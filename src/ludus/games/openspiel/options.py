"""Options of the OpenSpiel host."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

Parameter = bool | int | float | str


class SpielOptions(Struct, frozen=True, forbid_unknown_fields=True):
    game: str = "kuhn_poker"  # any game for two in turns; also as OpenSpiel writes it: leduc_poker(players=2)
    parameters: dict[str, Parameter] = msgspec.field(default_factory=dict)  # the game's own; empty: its defaults
    tensor: Literal["information_state", "observation"] = "information_state"  # observation: without the history
