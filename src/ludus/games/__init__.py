"""One package per game: host program, options, scripted policies, presets. `registry` finds them by entry point.

`ludus.games()` lists the installed games: Python puts this package into `ludus` under the same name once any part of it
is imported, so the package itself can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ludus.games.listing import GameInfo


class _CallablePackage(ModuleType):
    def __call__(self) -> tuple[GameInfo, ...]:
        from ludus.games.listing import games

        return games()


sys.modules[__name__].__class__ = _CallablePackage
