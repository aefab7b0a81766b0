"""Options of the Rocket League host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from ludus.errors import ConfigError
from ludus.games.rocket import rewards, starts
from ludus.suggestions import did_you_mean

Team = Annotated[int, Meta(ge=1, le=3)]
Positive = Annotated[float, Meta(gt=0.0)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]

DEFAULT_REWARDS: Mapping[str, float] = {
    "goal": 10.0,
    "concede": -10.0,
    "ball_to_goal": 2.0,
    "speed_to_ball": 0.5,
    "face_ball": 0.1,
    "touch": 0.5,
}


class RocketOptions(Struct, frozen=True, forbid_unknown_fields=True):
    team_size: Team = 1  # cars a team: 1v1, 2v2, 3v3; a match has twice as many seats, blue ones first
    tick_skip: Annotated[int, Meta(ge=1, le=120)] = 8  # ticks of 1/120 s for which a decision holds
    late_ticks: Annotated[int, Meta(ge=0, le=1)] = (
        1  # ticks until controls take effect; 1: as in the game, and in RLGym
    )
    feature_set: Literal["default", "rich"] = "default"  # default: RLGym's DefaultObs; rich: more, from inside the car
    room: Annotated[int, Meta(ge=0, le=3)] = 0  # cars a team that observations have room for; 0: team_size
    rewards: dict[str, float] = msgspec.field(default_factory=dict)  # term -> weight; empty: the file's, or a default
    rewards_file: str = ""  # YAML with weights and the three options below; in place of the four options here
    sparse: bool = False  # of the terms, only goal and concede count
    team_spirit: Share = 0.0  # 0: each car earns its own; 1: a team shares what its cars earn
    opponent_scale: Share = 0.0  # share of the opponents' mean reward that is subtracted; 1: rewards sum to zero
    starts: dict[str, Annotated[float, Meta(ge=0.0)]] = msgspec.field(
        default_factory=lambda: {"kickoff": 1.0}
    )  # kind of start -> weight: kickoff, random, ground, shot
    timeout_s: Positive = 120.0  # of the match's own time; then it is truncated, and nobody has won
    no_touch_s: Positive = 30.0  # without a touch; likewise
    meshes: str = ""  # folder with soccar/*.cmf; empty: those that come with rlgym-rocket-league

    @property
    def seats(self) -> int:
        return 2 * self.team_size

    @property
    def cars_room(self) -> int:
        return self.room or self.team_size


def check(options: RocketOptions) -> None:
    """Check rules that the types cannot express. Raises ConfigError with the option and the accepted values."""
    if options.room and options.room < options.team_size:
        raise ConfigError(f"options.room: {options.room} is less than team_size {options.team_size}; 0 is the same")
    for name in options.starts:
        if name not in starts.KINDS:
            raise ConfigError(f"options.starts: there is no start {name!r}; {did_you_mean(name, starts.KINDS)}")
    if not any(options.starts.values()):
        raise ConfigError("options.starts: no start has a weight above 0; kickoff: 1 is the default")
    if options.rewards_file and (options.rewards or options.sparse or options.team_spirit or options.opponent_scale):
        raise ConfigError(
            "options.rewards_file: the file sets rewards, sparse, team_spirit and opponent_scale; leave them out here"
        )
    rewards.refuse_unknown(options.rewards, "options.rewards")
    rewards_of(options)


def reward_weights(options: RocketOptions) -> dict[str, float]:
    """Return the weight of each term that counts. Raises ConfigError."""
    reward_file = _reward_file_of(options)
    return {
        name: weight
        for name, weight in reward_file.weights.items()
        if weight and (not reward_file.sparse or name in rewards.SPARSE)
    }


def with_rewards(options: RocketOptions, weights: Mapping[str, float]) -> dict[str, Any]:  # Any: options
    """Return the options to change so that exactly these terms count. Raises ConfigError without any."""
    if not weights:
        raise ConfigError("options.rewards: no reward term is left; keep at least one")
    rules = _reward_file_of(options)
    sharing = {"team_spirit": rules.team_spirit, "opponent_scale": rules.opponent_scale}
    return {"rewards": dict(weights), "rewards_file": "", "sparse": False, **sharing}


def _reward_file_of(options: RocketOptions) -> rewards.RewardFile:
    """Return the rewards of the file or, without one, of the options."""
    if options.rewards_file:
        return rewards.read_rewards(options.rewards_file)
    weights = dict(options.rewards) or dict(DEFAULT_REWARDS)
    return rewards.RewardFile(weights, options.sparse, options.team_spirit, options.opponent_scale)


def rewards_of(options: RocketOptions) -> rewards.Rewards:
    reward_function = rewards.Rewards(_reward_file_of(options), options.team_size)
    if not reward_function.names:
        where = "options.rewards_file" if options.rewards_file else "options.rewards"
        raise ConfigError(f"{where}: nothing is left that could be earned; sparse rewards need goal or concede")
    return reward_function
