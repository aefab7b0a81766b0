"""Run a game as a host: `python -m ludus.sdk my_game.py:make_game`, or `my_package.my_module:make_game`.

The SDK takes over stdin and stdout before it imports the game's code, so that a `print` of the game cannot corrupt a
frame.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from ludus.errors import ConfigError
from ludus.sdk.match import HostedGame
from ludus.sdk.serve import serve

DEFAULT = "make_game"


def main(words: list[str]) -> int:
    if len(words) != 1:
        sys.stderr.write("usage: python -m ludus.sdk FILE.py[:FUNCTION] or MODULE[:FUNCTION]\n")
        return 2

    def make(options: Mapping[str, Any]) -> HostedGame:  # Any: options from CONFIGURE
        game = _function(words[0])(options)
        if not isinstance(game, HostedGame):
            raise ConfigError(f"{words[0]} returned {type(game).__name__}, expected a ludus.sdk.match.HostedGame")
        return game

    return serve(make)


def _function(target: str) -> Any:  # Any: the module's attribute of that name
    place, colon, name = target.rpartition(":")
    if not colon:
        place, name = target, DEFAULT
    try:
        module = _module(place)
    except (Exception, SystemExit) as error:  # imported code may raise anything
        raise ConfigError(f"cannot import {place}: {type(error).__name__}: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        functions = [each for each in vars(module) if callable(getattr(module, each)) and not each.startswith("_")]
        raise ConfigError(f"{place} has no function {name}; it has {', '.join(functions) or 'none'}")
    return function


def _module(place: str) -> ModuleType:
    if not place.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        return importlib.import_module(place)
    path = Path(place).resolve()
    sys.path.insert(0, str(path.parent))  # as `python FILE.py` does
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses and typing look up their module there
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
