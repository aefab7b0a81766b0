"""Make an environment from the name after `pettingzoo:`."""

from __future__ import annotations

import importlib.util
import pkgutil
from collections.abc import Callable
from functools import partial
from typing import Any

import pettingzoo

from ludus.errors import ConfigError
from ludus.games.environments import loading
from ludus.games.pettingzoo.options import PettingZooOptions
from ludus.suggestions import did_you_mean

FAMILIES = ("classic", "butterfly", "sisl", "atari", "magent")
MAKERS = {"aec": "env", "parallel": "parallel_env"}  # API -> name of the function in a PettingZoo module

Environment = Any  # AECEnv or ParallelEnv: they share no base


def maker(options: PettingZooOptions) -> Callable[[], Environment]:
    """Return a function that makes environments. Raises ConfigError if the environment is unknown; the function raises
    it if an environment cannot be made."""
    make = partial(_make(options.env, options.api), **options.kwargs)
    return lambda: _checked(loading.make_environment(make, {}, options.env), options.env)


def is_parallel(environment: Environment) -> bool:
    return isinstance(environment, pettingzoo.ParallelEnv)


def _make(name: str, api: str) -> Callable[..., Any]:  # Any: somebody else's environment
    module_name, colon, attribute = name.rpartition(":")
    if colon or "." in name:
        loading.search_here()
    if colon:
        module = loading.module_of(module_name)
        function: Callable[..., Any] | None = getattr(module, attribute, None)
        if not callable(function):
            raise loading.no_such(module, attribute)
        return function
    module = loading.module_of(_path_of(name))
    apis = ("parallel", "aec") if api == "auto" else (api,)
    for each in apis:
        offered: Callable[..., Any] | None = getattr(module, MAKERS[each], None)
        if callable(offered):
            return offered
    raise ConfigError(f"options.env: {name} has no {' and no '.join(MAKERS[each] for each in apis)}")


def _path_of(name: str) -> str:
    """Return the path of the environment's module: in a family of PettingZoo, in PettingZoo, or in another package."""
    candidates = [f"pettingzoo.{name}", name] if "." in name else [f"pettingzoo.{each}.{name}" for each in FAMILIES]
    for candidate in candidates:
        if _exists(candidate):
            return candidate
    module_names = _module_names()
    others = f"known are {', '.join(module_names)}, and module:function of your own"
    hint = did_you_mean(name.rpartition(".")[2], module_names, others)
    raise ConfigError(f"options.env: PettingZoo has no {name}; {hint}")


def _module_names() -> list[str]:
    folders = [f"{folder}/{family}" for folder in pettingzoo.__path__ for family in FAMILIES]
    return sorted({module.name for module in pkgutil.iter_modules(folders) if module.name[-1].isdigit()})


def _exists(path: str) -> bool:
    try:
        return importlib.util.find_spec(path) is not None
    except (ImportError, ValueError):  # of the package it is in
        return False


def _checked(environment: Any, name: str) -> Environment:  # Any: as above
    if not isinstance(environment, pettingzoo.AECEnv | pettingzoo.ParallelEnv):
        problem = f"options.env: {name} makes a {type(environment).__name__}"
        raise ConfigError(f"{problem}; expected a pettingzoo AECEnv or ParallelEnv")
    return environment
