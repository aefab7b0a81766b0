"""Games are found by entry points in the group `ludus.games`, so that a game can live in a package of its own."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import msgspec

from ludus.errors import ConfigError
from ludus.hosting.command import HostCommand
from ludus.spec import GameSpec
from ludus.types import Policy

GROUP = "ludus.games"

Progress = Callable[[str, float], None]  # what is being done, share of the whole done so far


@dataclass(frozen=True)
class Game:
    """What the rest of the system may know of a game before one of its hosts has said HELLO."""

    name: str
    summary: str
    options: type[msgspec.Struct]  # frozen, forbid_unknown_fields; becomes `options` in CONFIGURE
    command: Callable[[Any], HostCommand]  # Any: the game's own options struct. May install what is missing: SetupError
    scripted: Mapping[str, Callable[[GameSpec, int], Policy]]  # name -> (spec, seed) -> policy
    net: str  # what policy.net: auto means here
    presets: Path  # folder of YAML presets shipped with the game
    formats: Callable[[], Sequence[str]] | None = None  # names of its variants, where it has such
    local: frozenset[str] = frozenset()  # options that name programs of this machine; kept out of saved matches
    page: Callable[[str, str], str] | None = None  # (title, log) -> HTML that shows a replayed match
    prepare: Callable[[Any, Progress], None] | None = None  # what `command` would install, with progress: SetupError


def load(name: str) -> Game:
    """The game of that name. An unknown name is refused with the nearest known one."""
    found = entry_points(group=GROUP, name=name)
    if not found:
        known = names()
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known) or 'none'}"
        raise ConfigError(f"game: unknown game {name!r}; {hint}")
    game = next(iter(found)).load()
    if not isinstance(game, Game):
        raise ConfigError(f"game: entry point {name!r} in group {GROUP!r} is {type(game).__name__}, expected a Game")
    return game


def names() -> list[str]:
    """Every installed game, sorted."""
    return sorted({point.name for point in entry_points(group=GROUP)})
