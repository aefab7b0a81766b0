"""Deck files: which ones an option names, and the simple decks that come with ludus."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ludus.errors import ConfigError
from ludus.games.forge.options import Decks

SUFFIX = ".dck"


def files(option: str, names: Decks) -> list[Path]:
    """Return the deck files that an option names, folders searched, sorted within each folder. Raises ConfigError for a
    path that is no deck file and for a folder without one."""
    paths: list[Path] = []
    for name in (names,) if isinstance(names, str) else names:
        if not name:
            continue
        path = Path(name).expanduser().absolute()
        if path.is_dir():
            inside = sorted(path.rglob(f"*{SUFFIX}"))
            if not inside:
                raise ConfigError(f"options.{option}: the folder {path} has no deck files ({SUFFIX})")
            paths += inside
        elif path.suffix == SUFFIX and path.is_file():
            paths.append(path)
        else:
            raise ConfigError(
                f"options.{option}: {path} is neither a deck file ({SUFFIX}) nor a folder with deck files"
            )
    for path in paths:
        if "\n" in str(path):
            raise ConfigError(f"options.{option}: {str(path)!r} has a line break in its name")
    return paths


def simple() -> list[Path]:
    """Return the two simple decks of ludus."""
    return sorted((Path(str(resources.files("ludus.games.forge"))) / "decks").glob(f"*{SUFFIX}"))
