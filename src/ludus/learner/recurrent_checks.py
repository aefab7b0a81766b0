"""Checks a recurrent net against the rest of the configuration."""

from __future__ import annotations

from ludus.config.settings import LearnerConfig, MemoryConfig, RolloutConfig
from ludus.errors import ConfigError
from ludus.learner.algorithms import ALGORITHMS, find


def refuse_unfit(memory: MemoryConfig, learner: LearnerConfig, rollout: RolloutConfig) -> None:
    """Raises ConfigError if the algorithm or the segments do not fit a net with this memory."""
    if memory.kind == "none":
        return
    if not find(learner.algorithm).recurrent:
        able = ", ".join(name for name in ALGORITHMS if find(name).recurrent)
        raise ConfigError(
            f"policy.memory.kind: {memory.kind} cannot be trained by learner.algorithm: {learner.algorithm}; accepted "
            f"is none, or one of the algorithms {able}"
        )
    if memory.sequence_length > rollout.segment:
        raise ConfigError(
            f"policy.memory.sequence_length: {memory.sequence_length} decisions are more than a segment has; accepted "
            f"are 1 to {rollout.segment}, or a longer rollout.segment"
        )
    if memory.burn_in >= rollout.segment:
        raise ConfigError(
            f"policy.memory.burn_in: {memory.burn_in} decisions leave nothing of a segment to learn from; accepted are "
            f"0 to {rollout.segment - 1}, or a longer rollout.segment"
        )
