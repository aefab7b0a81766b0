"""Decisions about a cluster: which of its nodes may play, and how its CPUs are divided into actors. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ludus.actors import division
from ludus.config.settings import RunConfig
from ludus.errors import ConfigError

COVERED = 0.9  # larger actors are preferred if they use this share of the CPUs that smaller ones could use
ROOM_FOR = 2  # times the actors at the start: parts of a batch, so that actors of nodes that join have parts to fill
SMALLEST_PART = 256  # decisions: smaller parts cost more to send than they are worth
LEARNER_GPU = 0.1  # share of a GPU that Ray books for a learner which it places; the rest is for actors
LOOPBACK = ("127.0.0.1", "localhost", "::1")
WHERE = "docs/cluster.md"


class Node(Struct, frozen=True):
    """A machine of the cluster that is alive now."""

    id: str
    name: str  # its address, as logs and metrics show it
    cpus: int
    gpus: float = 0.0


class Versions(Struct, frozen=True):
    """The software of a machine, as far as actors and learner must agree on it."""

    ludus: str
    source: str  # digest of the Python files of ludus
    python: str  # major and minor version


class Division(Struct, frozen=True):
    """The hosts, actors and batch parts of a run on a cluster, and why."""

    hosts: int
    actors: int
    parts: int
    why: str


def difference(node: Versions, here: Versions) -> str:
    """Return in which version a node differs from this machine, as text; "" if it may play."""
    for name in ("ludus", "python"):
        theirs, ours = getattr(node, name), getattr(here, name)
        if theirs != ours:
            return f"it has {name} {theirs}, this machine has {ours}"
    if node.source != here.source:
        return f"its source code of ludus {node.ludus} differs from this machine's ({node.source}, {here.source})"
    return ""


def refuse_unfit(config: RunConfig) -> None:
    """Raise ConfigError if a run with these settings cannot play on a cluster."""
    if config.mode == "serial":
        raise ConfigError("mode: serial plays in the learner's process; use mode: overlapped with --cluster")
    if config.data.folder and not config.data.live:
        raise ConfigError("data.folder: a run that learns from a dataset has no actors; leave --cluster out")
    if config.servers.count:
        raise ConfigError(
            "servers.count: these servers listen on this machine only, and the hosts of other nodes cannot reach them; "
            "start servers yourself and name them in the options of the game, or leave --cluster out"
        )


def refuse_address(address: str) -> None:
    """Raise ConfigError unless the address is `auto` or HOST:PORT."""
    host, _, port = address.rpartition(":")
    if address != "auto" and not (host and "/" not in host and port.isascii() and port.isdigit()):
        raise ConfigError(
            f"--cluster: expected auto or HOST:PORT of the cluster's head, got {address!r}. Ray Client (ray://) is not "
            f"supported: run ludus on a machine of the cluster ({WHERE})"
        )


def divide(config: RunConfig, cpus: Sequence[int]) -> Division:
    """Divide the CPUs of the nodes into actors that all have about the same number of hosts, one per CPU.

    `fleet.hosts` is the number of hosts on all nodes, and `actors.count` the number of actors. Those for which no node
    has room now wait until one joins. Raises ConfigError if no node has a CPU.
    """
    cpus = [each for each in cpus if each > 0]
    if not cpus:
        raise ConfigError(f"no node of the cluster has a CPU for actors; start nodes with --num-cpus ({WHERE})")
    segments, count, hosts = division.segments_of(config), config.actors.count, config.fleet.hosts
    if count:
        each = -(-hosts // count) if hosts else max(1, min(sum(cpus) // count, max(cpus)))
        why = "as configured"
    else:
        each = _hosts_each(cpus)
        count = -(-hosts // each) if hosts else sum(node // each for node in cpus)
        why = f"each with {each} of {sum(cpus)} CPUs on {len(cpus)} nodes"
    if count > segments:
        count, why = segments, f"one for each of the {segments} segments of a batch"
    hosts = max(hosts, count) if hosts else count * each
    goal = min(ROOM_FOR * count, max(2, config.learner.decisions // SMALLEST_PART)) if grows(config) else 0
    return Division(hosts, count, _parts(segments, min(segments, max(count, goal))), why)


def grows(config: RunConfig) -> bool:
    """Return whether the run adds actors for nodes that join: if neither their number nor that of hosts is set."""
    return not config.actors.count and not config.fleet.hosts


def most_actors(parts: int) -> int:
    """Return how many actors may fill batches of this many parts. Lag grows with the actors beyond one for each
    part."""
    return ROOM_FOR * parts if parts > 1 else 1


def additions(free: Sequence[int], waiting: Sequence[int], *, each: int, room: int) -> list[int]:
    """Return the numbers of hosts of new actors for the free CPUs of nodes that have joined.

    free: CPUs of each of these nodes that no actor uses. waiting: hosts of each actor that waits for a node, which come
    first. each: hosts of an actor at most. room: how many actors may be added.
    """
    free = list(free)
    for hosts in waiting:
        fitting = [cpus for cpus in free if cpus >= hosts]
        if fitting:
            free[free.index(max(fitting))] -= hosts
    added: list[int] = []
    for cpus in (cpus for cpus in free if cpus > 0):
        count = -(-cpus // each)
        added += [share.hosts for share in division.shares(cpus, count)]
    return added[: max(0, room)]


def gpus_each(nodes: Sequence[Node], actors: int) -> float:
    """Return the share of a GPU that each actor gets if policies compute on GPUs. Every GPU has room for a learner."""
    gpus, most = sum(node.gpus for node in nodes), 1.0 - LEARNER_GPU
    return min(most, int(100 * most * gpus / max(1, actors)) / 100)


def is_loopback(address: str) -> bool:
    """Return whether HOST:PORT is an address of the loopback interface."""
    return address.removeprefix("http://").rpartition(":")[0].strip("[]") in LOOPBACK


def listed(nodes: Iterable[Node]) -> str:
    """Return the names of nodes, for a sentence."""
    return ", ".join(sorted(node.name for node in nodes))


def _hosts_each(cpus: Sequence[int]) -> int:
    """Return the largest number of hosts for an actor with which the actors use almost all CPUs."""
    used = {each: sum(node // each * each for node in cpus) for each in range(1, division.HOSTS_EACH + 1)}
    return max(each for each in used if used[each] >= COVERED * max(used.values()))


def _parts(segments: int, actors: int) -> int:
    """Return the smallest number of equal parts of a batch that is not below the number of actors."""
    return next(parts for parts in range(actors, segments + 1) if segments % parts == 0)
