"""Converts settings from and to texts such as `learner.lr=1e-3`, the format of `--set`. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ludus.config import load
from ludus.errors import ConfigError

OPTIONS = "options"


def given_options(sets: Sequence[str]) -> dict[str, Any]:  # Any: options of a game, not yet checked
    """Return the game options in texts of the form `options.NAME=VALUE`. Raises ConfigError for any other setting."""
    for text in sets:
        path = text.partition("=")[0].strip()
        if not path.startswith(f"{OPTIONS}."):
            raise ConfigError(
                f"--set {text}: only options of the game can be set here, as in --set options.node=system"
            )
    return dict(load.override({OPTIONS: {}}, sets)[OPTIONS])


def whole_options(sets: Sequence[str]) -> frozenset[str]:
    """Return the names of the options that these settings replace completely.

    `options.kwargs.size=3` replaces only a part of kwargs, so kwargs is not included.
    """
    paths = ([key.strip() for key in text.partition("=")[0].split(".")] for text in sets)
    return frozenset(path[1] for path in paths if len(path) == 2 and path[0] == OPTIONS)


def given_paths(sets: Sequence[str]) -> frozenset[str]:
    """Return the paths of these settings, such as `learner.lr`."""
    return frozenset(text.partition("=")[0].strip() for text in sets)


def texts_of(settings: Mapping[str, Any]) -> list[str]:  # Any: plain data, not yet checked
    """Return settings as texts for `--set`. Raises ConfigError for a value that is not plain data.

    {"learner": {"lr": 0.001}, "seed": 5} and {"learner.lr": 0.001, "seed": 5} both become learner.lr=0.001 and seed=5.
    """
    return list(_texts(settings, ""))


def _texts(settings: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for key, value in settings.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            yield from _texts(value, f"{path}.")
            continue
        try:
            yield f"{path}={json.dumps(msgspec.to_builtins(value))}"
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{path}: must be a number, a text, a list or a mapping, but is {value!r}") from error
