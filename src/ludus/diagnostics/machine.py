"""Measures this machine and the memory of a game's hosts, to choose the sizes of a run."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, cast

import psutil

from ludus.actors.actor import open_fleet
from ludus.actors.resolved import Machine, ResolvedRun
from ludus.actors.shared_memory import free_bytes
from ludus.diagnostics.sizing import MachineSize, Needs
from ludus.errors import ConfigError, FleetError
from ludus.spec import GameSpec

FEW, MANY = 1, 16  # matches on the two hosts that are measured
GROWTH = 1.5  # factor for the memory that a host allocates after its start


def look(machine: Machine) -> MachineSize:
    """Return the usable cores, the memory that is free now, and the kind of the learner's device."""
    kind = cast(Literal["cpu", "mps", "cuda"], machine.learner_device.device.type)
    return MachineSize(machine.cores, free_bytes() / 2**20, kind)


def needs(run: ResolvedRun) -> Needs:
    """Return how much memory the hosts of a run need: from the game's own figures, or else measured on two hosts that
    are started one after the other. Raises ConfigError if those do not start."""
    game, config = run.game, run.config
    footprint, beside_mib = game.memory, config.servers.count * config.servers.memory_mib
    if footprint is not None:
        source = f"known of {game.name}"
        return Needs(footprint.host_mib, footprint.match_mib, footprint.row_bytes, source, beside_mib=beside_mib)
    try:
        few, _ = _measured(run, FEW)
        many, spec = _measured(run, MANY)
    except FleetError as error:
        raise ConfigError(f"--size: the memory of a host could not be measured: {error}; leave out --size") from error
    return Needs(
        host_mib=GROWTH * few,
        match_mib=GROWTH * max(many - few, 0.0) / (MANY - FEW),
        row_bytes=spec.obs.nbytes + spec.actions + 32,
        source=f"measured: {few:.0f} MiB with {FEW} match, {many:.0f} with {MANY}",
        seats=spec.seats,
        beside_mib=beside_mib,
    )


def _measured(run: ResolvedRun, matches: int) -> tuple[float, GameSpec]:
    """Return the resident memory, in MiB, of a host that has opened its matches, and its game."""
    with TemporaryDirectory() as folder, open_fleet(run.sized(1, matches), Path(folder), 0) as fleet:
        fleet.recv(run.config.fleet.reply_deadline_s)
        resident = 0
        for pid in fleet.pids:
            host = psutil.Process(pid)
            resident += sum(each.memory_info().rss for each in (host, *host.children(recursive=True)))
        return resident / 2**20, fleet.spec
