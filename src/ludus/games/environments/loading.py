"""Import environments from the user's own modules, named as `module:Name`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from ludus.errors import ConfigError, SetupError
from ludus.games.extras import install_command
from ludus.suggestions import did_you_mean


def require(package: str) -> None:
    """Raise SetupError, with the command that installs it, if the package is missing."""
    if importlib.util.find_spec(package) is None:
        raise SetupError(f"{package} is not installed; run: {install_command(package)}")


def search_here() -> None:
    """Let modules of the current folder be imported: for an environment of the user's own, which only this machine's
    command line can name (games/trust.py)."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)


def module_of(name: str) -> Any:  # Any: a module of somebody else
    """Import a module. Raises ConfigError with the cause and the line of the module that failed."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # a module may do and raise anything while it is imported
        raise ConfigError(f"options.env: {_trouble(name, error)}") from error


def make_environment(
    make: Callable[..., Any], kwargs: Mapping[str, Any], where: str
) -> Any:  # Any: somebody else's environment
    """Call `make` and return the environment. Raises ConfigError if that fails."""
    try:
        return make(**kwargs)
    except Exception as error:  # as above
        raise ConfigError(f"options.env: {where} cannot be made: {_words(error)}") from error


def no_such(module: Any, name: str) -> ConfigError:  # Any: as above
    public = [each for each in dir(module) if not each.startswith("_") and callable(getattr(module, each))]
    hint = did_you_mean(name, public, f"it has {', '.join(public[:8]) or 'nothing that could be one'}")
    return ConfigError(f"options.env: {module.__name__} has no {name}; {hint}")


def _trouble(name: str, error: Exception) -> str:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing and (name == missing or name.startswith(f"{missing}.")):
        return f"there is no module {name}; it must be importable from {os.getcwd()}"
    return f"the module {name} cannot be imported: {_words(error)}"


def _words(error: Exception) -> str:
    """Return the error's text and the innermost line of the current folder in its traceback."""
    here = os.getcwd() + os.sep
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(here)]
    place = f" ({os.path.relpath(own[-1].filename)}:{own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {error}{place}"
