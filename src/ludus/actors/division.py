"""Divides the hosts and batches of a run among its actors. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ludus.config.settings import RunConfig
from ludus.errors import ConfigError

HOSTS_EACH = 6  # hosts that keep one actor busy: one that was busy 92% of its time kept 16 hosts busy 40% of theirs
FEW_CORES = 8  # with fewer, a second actor takes a core that a host uses better


@dataclass(frozen=True, slots=True)
class ActorShare:
    """One of the actors of a run, and its hosts."""

    actor: int  # number of the actor, from 0
    first_host: int  # number of its first host in the run
    hosts: int


@dataclass(frozen=True, slots=True)
class ActorCount:
    """The number of actors of a run, and why."""

    actors: int
    why: str
    parts: int = 0  # batch parts that make a batch; 0: as many as actors

    @property
    def batch_parts(self) -> int:
        """The number of batch parts that make a batch."""
        return self.parts or self.actors

    def buffers(self, queue: int) -> int:
        """Return the number of batch buffers of each actor, if `queue` batches may wait for the learner.

        The part that the learner trains on stays in its buffer if it is the whole batch; otherwise it is copied.
        """
        return -(-queue * self.batch_parts // self.actors) if self.batch_parts > 1 else queue + 1


def choose(config: RunConfig, *, hosts: int, cores: int) -> ActorCount:
    """Return the number of actors of a run: `actors.count`, or for 0 one that suits the hosts and cores.

    Raises ConfigError if `actors.count` does not divide the batch, or is more than the run can use.
    """
    segments = segments_of(config)
    if config.actors.count:
        _refuse_unfit(config, hosts, segments)
        return ActorCount(config.actors.count, "as configured")
    if config.mode == "serial":
        return ActorCount(1, "mode: serial plays in the learner's process")
    if cores < FEW_CORES:
        return ActorCount(1, f"{cores} cores: more actors would take cores from the hosts")
    target = max(1, min(round(hosts / HOSTS_EACH), hosts))
    actors = max(count for count in range(1, target + 1) if segments % count == 0)
    why = f"about one for {HOSTS_EACH} of {hosts} hosts"
    if actors != target:
        why += f"; a batch of {segments} segments is not divisible by {target}"
    return ActorCount(actors, why)


def shares(hosts: int, actors: int) -> tuple[ActorShare, ...]:
    """Divide the hosts among the actors in blocks of consecutive numbers, whose sizes differ by at most one."""
    firsts = [hosts * actor // actors for actor in range(actors + 1)]
    return tuple(ActorShare(actor, firsts[actor], firsts[actor + 1] - firsts[actor]) for actor in range(actors))


def segments_of(config: RunConfig) -> int:
    """Return the number of segments in a batch."""
    return max(1, config.learner.decisions // config.rollout.segment)


def _refuse_unfit(config: RunConfig, hosts: int, segments: int) -> None:
    count = config.actors.count
    if config.mode == "serial" and count > 1:
        raise ConfigError(f"actors.count: {count} actors need processes of their own, and mode: serial has none; use 1")
    if count > hosts:
        raise ConfigError(f"actors.count: {count} actors need a host each, and the run has {hosts} hosts; use {hosts}")
    if segments % count:
        fitting = [each for each in range(1, hosts + 1) if segments % each == 0]
        nearest = min(fitting, key=lambda each: (abs(each - count), each))
        raise ConfigError(
            f"actors.count: a batch has {segments} segments (learner.decisions / rollout.segment), which {count} "
            f"actors cannot share equally; the nearest number that fits is {nearest}"
        )
