"""What a net's memory asks of the rest of the configuration."""

from __future__ import annotations

from ludus.config.settings import LearnerConfig, MemoryConfig, RolloutConfig
from ludus.errors import ConfigError

REMEMBERING = ("ppo", "ppo_kl", "vtrace")  # algorithms that learn from whole segments with the state they open with


def refuse_unfit(memory: MemoryConfig, learner: LearnerConfig, rollout: RolloutConfig) -> None:
    """Raises ConfigError for a memory that cannot be learned with. Call before anything starts."""
    if memory.kind == "none":
        return
    if learner.algorithm not in REMEMBERING:
        raise ConfigError(
            f"policy.memory.kind: {memory.kind} cannot be learned by learner.algorithm: {learner.algorithm}; accepted "
            f"is none, or one of the algorithms {', '.join(REMEMBERING)}"
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
