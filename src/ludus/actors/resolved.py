"""A run with every choice made: game, options, devices, numbers of hosts and actors, and the checkpoint that it
continues from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import torch

from ludus.actors import cluster, division, preflight
from ludus.actors.cluster import Node
from ludus.actors.division import ActorCount, ActorShare
from ludus.config import load
from ludus.config.load import CheckedConfig
from ludus.config.seed_streams import seed_for
from ludus.config.settings import RunConfig
from ludus.games import catalogue, defaults, registry
from ludus.games.registry import Game
from ludus.learner import compute, devices
from ludus.learner.devices import DeviceChoice
from ludus.policies import placement
from ludus.policies.checkpoints.checkpoint import SavedCheckpoint
from ludus.policies.placement import Playing
from ludus.processes.cores import cores


@dataclass(frozen=True, slots=True)
class Machine:
    """The facts about this machine that automatic settings depend on."""

    cores: int  # CPU cores that this process may use
    learner_device: DeviceChoice


@dataclass(frozen=True, slots=True)
class ResolvedRun:
    """A run, or one stage of a run, with every choice made. `resolve` makes it once; all components read it."""

    config: RunConfig  # as saved in config.yaml: automatic settings are still 0 or "auto"
    game: Game
    options: msgspec.Struct  # of the game, checked, with the addresses of the servers that the run has started
    machine: Machine
    hosts: int
    actor_device: Playing  # where the policies that play compute
    actors: ActorCount
    share: ActorShare  # the hosts of one actor, in a run made by `for_actor`; otherwise all hosts
    stages: tuple[ResolvedRun, ...] = ()  # of the curriculum; empty without one
    checkpoint: SavedCheckpoint | None = None  # where the run continues from; None for a new run
    cluster: str = ""  # address of the Ray cluster whose nodes play; empty: this machine plays
    cluster_cores: int = 0  # CPUs of its nodes; 0 until they are known

    @property
    def learner_device(self) -> torch.device:
        return self.machine.learner_device.device

    @property
    def cores(self) -> int:
        """The number of cores that play: of the cluster's nodes, or of this machine."""
        return self.cluster_cores or self.machine.cores

    @property
    def local_hosts(self) -> int:
        """The number of hosts that evaluations start on this machine."""
        return min(self.hosts, self.machine.cores) if self.cluster else self.hosts

    @property
    def net(self) -> str:
        """The name of the net; `policy.net: auto` is the one that the game prefers."""
        return self.game.net if self.config.policy.net == "auto" else self.config.policy.net

    @property
    def version(self) -> int:
        """The policy version that the run continues from; 0 for a new run."""
        return 0 if self.checkpoint is None else self.checkpoint.state.version

    def for_actor(self, actor: int) -> ResolvedRun:
        """Return this run as one of its actors sees it."""
        return replace(self, share=division.shares(self.hosts, self.actors.actors)[actor])

    def actor_seed(self, purpose: str, version: int = 0) -> int:
        """Return a seed like `seed`, different for each actor."""
        actor = self.share.actor
        return self.seed(f"{purpose} of actor {actor}" if actor else purpose, version)

    def seed(self, purpose: str, version: int = 0) -> int:
        """Return the seed for one purpose, derived from the seed of the run (config/seed_streams.py)."""
        return seed_for(self.config.seed, purpose, version)

    def continued_from(self, checkpoint: SavedCheckpoint | None) -> ResolvedRun:
        """Return this run, but continued from a checkpoint."""
        return replace(self, checkpoint=checkpoint)

    def played_with(self, options: msgspec.Struct) -> ResolvedRun:
        """Return this run with other options for its hosts, such as the addresses of the servers that were started."""
        return replace(self, options=options)

    def sized(self, fleet_hosts: int, matches: int) -> ResolvedRun:
        """Return this run with another number of hosts and of matches per host, and one actor for all of them."""
        fleet = msgspec.structs.replace(self.config.fleet, hosts=fleet_hosts, matches=matches)
        return replace(
            self,
            config=msgspec.structs.replace(self.config, fleet=fleet),
            hosts=fleet_hosts,
            actors=ActorCount(1, ""),
            share=ActorShare(0, 0, fleet_hosts),
        )


def resolve(settings: Mapping[str, object] | RunConfig, machine: Machine | None = None) -> ResolvedRun:
    """Check the settings of a run and make every automatic choice. Starts no process.

    Args:
        settings: plain data, as in a YAML file, or a configuration.
        machine: the facts about this machine, if a run was resolved on it before; by default, they are determined here.

    Raises:
        ConfigError: a setting is unknown, out of range, or cannot be used on this machine or with this game.
    """
    data = msgspec.to_builtins(settings) if isinstance(settings, RunConfig) else settings
    usable_cores = cores() if machine is None else machine.cores
    checked = load.checked(defaults.with_game(data), options_of=catalogue.options_of, usable_cores=usable_cores)
    game = registry.load(checked.config.game)
    preflight.refuse_unfit_stages(checked, game)
    if machine is None:
        machine = Machine(usable_cores, devices.choose(checked.config.device))
    compute_plan(checked.config, machine)
    run = _resolved(checked, game, machine)
    return replace(run, stages=tuple(_resolved(stage, game, machine) for stage in checked.stages))


def on_cluster(run: ResolvedRun, nodes: Sequence[Node]) -> ResolvedRun:
    """Return a run with hosts and actors for these nodes, and policies on their GPUs if all of them have one."""
    config = run.config
    divided = cluster.divide(config, [node.cpus for node in nodes])
    cuda = config.policy.device == "cuda" or (config.policy.device == "auto" and all(node.gpus > 0 for node in nodes))
    device = run.actor_device if cuda else Playing(torch.device("cpu"), "the nodes of the cluster have no GPUs")
    return replace(
        run,
        hosts=divided.hosts,
        actors=ActorCount(divided.actors, divided.why, divided.parts),
        actor_device=device,
        share=ActorShare(0, 0, divided.hosts),
        stages=tuple(on_cluster(stage, nodes) for stage in run.stages),
        cluster_cores=sum(node.cpus for node in nodes),
    )


class PackedRun(msgspec.Struct, frozen=True):
    """A resolved run in a form that can be sent to an actor process."""

    config: RunConfig  # with the options that the hosts play with
    cores: int
    hosts: int
    learner_device: str
    actor_device: str
    actors: int
    share: ActorShare
    parts: int = 0


def pack(run: ResolvedRun) -> PackedRun:
    """Return a run in the form that is sent to another process."""
    config = msgspec.structs.replace(run.config, options=msgspec.to_builtins(run.options), curriculum=())
    return PackedRun(
        config,
        run.cores,
        run.hosts,
        str(run.learner_device),
        str(run.actor_device.device),
        run.actors.actors,
        run.share,
        run.actors.parts,
    )


def unpack(packed: PackedRun) -> ResolvedRun:
    """Return the run that another process has resolved, without resolving anything again."""
    game = registry.load(packed.config.game)
    return ResolvedRun(
        packed.config,
        game,
        msgspec.convert(packed.config.options, game.options),
        Machine(packed.cores, DeviceChoice(torch.device(packed.learner_device), "")),
        packed.hosts,
        Playing(torch.device(packed.actor_device), ""),
        ActorCount(packed.actors, "", packed.parts),
        packed.share,
    )


def compute_plan(config: RunConfig, machine: Machine) -> compute.ComputePlan:
    """Return how the learner computes on its device. Raises ConfigError for settings that the device cannot do."""
    recurrent = config.policy.recurrent.kind != "none"
    return compute.plan(config.learner, machine.learner_device.device, remembers=recurrent)


def describe(run: ResolvedRun) -> list[str]:
    """Return lines for the log: the devices of a run, and which features are on or off there, with the reason."""
    plan = compute_plan(run.config, run.machine)
    lines = compute.describe(plan, run.machine.learner_device)
    if run.cluster and not run.cluster_cores:
        return [*lines, f"actors: chosen for the nodes of the Ray cluster {run.cluster}"]
    return [
        *lines,
        placement.describe(run.actor_device, run.config.policy),
        f"actors: {run.actors.actors} ({run.actors.why})",
    ]


def _resolved(checked: CheckedConfig, game: Game, machine: Machine) -> ResolvedRun:
    config = checked.config
    hosts = config.fleet.hosts_on(machine.cores)
    preflight.refuse_overload(checked, game, hosts)
    actors = division.choose(config, hosts=hosts, cores=machine.cores)
    shares_gpu = config.mode == "overlapped" and machine.learner_device.device.type == "cuda"
    actor_device = placement.choose(
        config.policy,
        game.net if config.policy.net == "auto" else config.policy.net,
        rows=-(-hosts // actors.actors) * config.fleet.matches,
        minibatch=config.learner.minibatch if shares_gpu else 0,
    )
    share = ActorShare(0, 0, hosts)
    return ResolvedRun(config, game, checked.options, machine, hosts, actor_device, actors, share)
