"""Options of the OpenFront host."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from ludus.errors import ConfigError, SetupError
from ludus.suggestions import did_you_mean

HOME = "OPENFRONT_HOME"
INSTALL = "npm ci --ignore-scripts --omit=dev"
DEFAULT_REWARDS: Mapping[str, float] = {"win": 1.0, "loss": -1.0, "land": 1.0, "kill": 0.1, "survival": 0.0}
SPARSE = ("win", "loss")  # what is left of the terms when rewards are sparse

Seats = Annotated[int, Meta(ge=1, le=16)]
Players = Annotated[int, Meta(ge=0, le=400)]
Map = Annotated[str, Meta(pattern=r"^[A-Za-z0-9 _-]{1,60}$")]


class OpenFrontOptions(Struct, frozen=True, forbid_unknown_fields=True):
    openfront: str = ""  # folder with a checkout of OpenFront and its dependencies; empty: $OPENFRONT_HOME
    maps: Annotated[list[Map], Meta(min_length=1, max_length=50)] = msgspec.field(
        default_factory=lambda: ["onion"]
    )  # names of maps; the seed of a match chooses one
    size: Literal["compact", "normal"] = "compact"  # compact maps have a quarter of the tiles
    bots: Players = 10  # weak players that the game calls tribes
    nations: Players = 0  # players of the game's AI
    difficulty: Literal["easy", "medium", "hard", "impossible"] = "medium"  # of the nations
    ticks: Annotated[int, Meta(ge=2, le=100)] = 10  # ticks of 0.1 s for each decision
    max_minutes: Annotated[float, Meta(gt=0, le=170)] = 20.0  # of game time; then the match is truncated
    overtime_minutes: Annotated[int, Meta(ge=0, le=120)] = 0  # from then on, less land suffices to win; 0: never
    seats: Seats = 1  # learning players in one match
    team_size: Seats = 1  # seats a team; all seats in one team play against the nations
    feature_set: Literal["summary", "full"] = "full"  # full adds a coarse grid of the map
    grid: Annotated[int, Meta(ge=4, le=128)] = 32  # cells on a side of the grid
    diplomacy: bool = True  # False: alliances and embargoes are never legal
    rewards: dict[str, float] = msgspec.field(default_factory=dict)  # term -> weight; empty: the defaults
    sparse: bool = False  # of the terms, only win and loss count
    node: str = "wheel"  # "wheel", "system" or the path of an executable


def check(options: OpenFrontOptions) -> None:
    """Check rules that the types cannot express. Raises ConfigError with the option and the accepted values."""
    if options.seats % options.team_size:
        raise ConfigError(f"options.team_size: {options.seats} seats cannot be divided by {options.team_size}")
    if options.team_size > 1 and options.seats == options.team_size and not options.nations:
        raise ConfigError("options.nations: all seats are one team and play against nations, so there must be some")
    if options.seats == 1 and not options.bots and not options.nations:
        raise ConfigError("options.bots: a single seat needs bots or nations to play against")
    for term in options.rewards:
        if term not in DEFAULT_REWARDS:
            raise ConfigError(f"options.rewards: there is no term {term!r}; {did_you_mean(term, DEFAULT_REWARDS)}")


def reward_weights(options: OpenFrontOptions) -> dict[str, float]:
    """Return the weight of each term that counts."""
    weights = options.rewards or DEFAULT_REWARDS
    return {term: weight for term, weight in weights.items() if weight and (not options.sparse or term in SPARSE)}


def with_rewards(options: OpenFrontOptions, weights: Mapping[str, float]) -> dict[str, object]:
    """Return the options to change so that exactly these terms count."""
    return {"rewards": dict(weights), "sparse": False}


def checkout(configured: str = "") -> Path:
    """Return the folder with the checkout: `options.openfront`, or else $OPENFRONT_HOME. Raises SetupError if neither
    names one, or if its dependencies are not installed."""
    name = configured or os.environ.get(HOME, "")
    if not name:
        raise SetupError(
            f"there is no OpenFront: clone https://github.com/openfrontio/OpenFrontIO, run `{INSTALL}` in it, and set "
            f"options.openfront or {HOME} to that folder"
        )
    folder = Path(name).expanduser().absolute()
    if not (folder / "src" / "core").is_dir():
        raise SetupError(f"{folder} is no checkout of OpenFront: there is no folder src/core in it")
    if not (folder / "node_modules").is_dir():
        raise SetupError(f"{folder} has no dependencies; run there: {INSTALL}")
    return folder
