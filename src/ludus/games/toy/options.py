"""Options of the toy games."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=1)]
After = Annotated[int, Meta(ge=0)]


class ToyOptions(Struct, frozen=True, forbid_unknown_fields=True):
    game: Literal["identity", "nim", "rps", "recall", "cards"] = "nim"
    pile: Annotated[int, Meta(ge=4)] = 12  # nim: the largest pile that can be shown, and that a match may start with
    dealt: Annotated[int, Meta(ge=0)] = 0  # nim: the largest that matches do start with, from 4 to pile; 0: pile
    seats: Annotated[int, Meta(ge=2, le=8)] = 2  # rps: players, of whom each plays against all others
    rounds: Count = 8  # not nim: decisions of a seat in a match
    actions: Annotated[int, Meta(ge=2)] = 4  # identity, recall and cards: the largest hand
    truncate_after: After = 0  # turns; a match that is longer is truncated
    slow_s: Annotated[float, Meta(ge=0.0)] = 0.0  # keeps its host busy this long in each turn of a match
    wait_s: Annotated[float, Meta(ge=0.0)] = 0.0  # each turn takes this long, while the other matches go on
