"""Checks that the algorithm and the segments of a run fit its recurrent net."""

from __future__ import annotations

from ludus.config.settings import LearnerConfig, RecurrentConfig, RolloutConfig
from ludus.errors import ConfigError
from ludus.learner.algorithms import ALGORITHMS, find


def refuse_unfit(recurrent: RecurrentConfig, learner: LearnerConfig, rollout: RolloutConfig) -> None:
    """Raise ConfigError if the algorithm or the length of segments does not fit a net with this recurrent layer."""
    if recurrent.kind == "none":
        return
    if not find(learner.algorithm).recurrent:
        able = ", ".join(name for name in ALGORITHMS if find(name).recurrent)
        raise ConfigError(
            f"policy.recurrent.kind: {recurrent.kind} cannot be trained by learner.algorithm: {learner.algorithm}; "
            f"accepted is none, or one of the algorithms {able}"
        )
    if recurrent.sequence_length > rollout.segment:
        raise ConfigError(
            f"policy.recurrent.sequence_length: {recurrent.sequence_length} decisions are more than a segment has; "
            f"accepted are 1 to {rollout.segment}, or a longer rollout.segment"
        )
    if recurrent.burn_in >= rollout.segment:
        raise ConfigError(
            f"policy.recurrent.burn_in: {recurrent.burn_in} decisions leave nothing of a segment to learn from; "
            f"accepted are 0 to {rollout.segment - 1}, or a longer rollout.segment"
        )
