"""Make an environment from the name after `gymnasium:`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium

from ludus.errors import ConfigError
from ludus.games.environments import loading
from ludus.games.gymnasium.options import GymnasiumOptions

Environment = gymnasium.Env[Any, Any]  # Any: whatever it observes and takes


def maker(options: GymnasiumOptions) -> Callable[[], Environment]:
    """Return a function that makes environments. Raises ConfigError if the environment is unknown; the function raises
    it if an environment cannot be made."""
    make = partial(_make(options.env), **options.kwargs)
    return lambda: _checked(loading.make_environment(make, {}, options.env), options.env)


def _make(name: str) -> Callable[..., Any]:  # Any: somebody else's environment
    module_name, colon, attribute = name.rpartition(":")
    if not colon:
        return _registered(name)
    loading.search_here()
    module = loading.module_of(module_name)
    function: Callable[..., Any] | None = getattr(module, attribute, None)
    if callable(function):
        return function
    if attribute in gymnasium.registry:  # the module has registered it while it was imported
        return _registered(attribute)
    raise loading.no_such(module, attribute)


def _registered(name: str) -> Callable[..., Any]:  # Any: as above
    # Gymnasium's checker costs as much as a small step, on every step. Episode checks what ludus needs.
    return partial(gymnasium.make, name, disable_env_checker=True)


def _checked(environment: Any, name: str) -> Environment:  # Any: as above
    missing = [
        each for each in ("observation_space", "action_space", "reset", "step") if not hasattr(environment, each)
    ]
    if missing:
        problem = f"options.env: {name} makes a {type(environment).__name__} without {', '.join(missing)}"
        raise ConfigError(f"{problem}; expected a gymnasium.Env")
    return environment  # type: ignore[no-any-return]  # whatever has these is one
