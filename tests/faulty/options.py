"""Options of the faulty game. Faults count decisions (rows that arrived) since the host started; 0 means never."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ludus.games.toy.options import ToyOptions

After = Annotated[int, Meta(ge=0)]


class FaultyOptions(ToyOptions, frozen=True, forbid_unknown_fields=True):
    crash_after: After = 0
    hang_after: After = 0
    garbage_after: After = 0
    half_frame_after: After = 0  # then exits
    huge_length_after: After = 0
    nan_after: After = 0
    empty_mask_after: After = 0
    flood_after: After = 0
    match_error_after: After = 0  # turns of one slot; the match raises
    fault_marker: str = ""  # a file: only the host that creates it has the fault, once
