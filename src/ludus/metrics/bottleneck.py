"""Names the bottleneck of a run in one line, from the shares of the activities. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ludus.metrics import names
from ludus.metrics.times import ACTOR, HOSTS, LEARNER, OTHER, Times

BUSY = 0.8  # share of its time from which on a process counts as busy
ROOM = 0.5  # free cores that one more host needs
NOTABLE = 0.05  # of the actor's time spent waiting for the learner
WAITING = {
    HOSTS: (names.HOST_WAIT,),
    ACTOR: (names.WAIT_HOSTS, names.HAND_OVER),
    LEARNER: (names.WAIT_BATCH,),
}


@dataclass(frozen=True, slots=True)
class Load:
    """The busy share of one kind of process, and its largest activity."""

    process: str
    busy: float
    part: str
    part_share: float

    def __str__(self) -> str:
        return f"{self.busy:.0%} ({self.part.replace('_', ' ')} {self.part_share:.0%})"


def sentence(shares: Mapping[str, float], *, hosts: int, cores: int, actors: int = 1, advises: bool = True) -> str:
    """Return a line of at most 80 characters that names the bottleneck, or "" if nothing was measured yet.

    `shares` are the shares of the activities by name. The line also says what helps, unless `advises` is False.
    """
    load_of = loads(shares)
    if not load_of:
        return ""
    busiest = max(
        (load for load in load_of.values() if _limits(load, shares)), key=lambda load: load.busy, default=None
    )
    if busiest is None or busiest.busy < BUSY:
        words = ", ".join(f"{load.process} {load.busy:.0%}" for load in load_of.values())
        return f"Nobody is always busy ({words}){': try more matches' if advises else ''}."
    if not advises:
        return f"Busiest: {busiest.process}, {busiest}."
    processes = {HOSTS: hosts, ACTOR: actors}
    room = sum(load.busy * processes.get(load.process, 1) for load in load_of.values()) + ROOM <= cores
    if busiest.process == HOSTS:
        helps = f"more may help, {cores} cores are there" if room else f"more will not help on {cores} cores"
        return f"The hosts are busy {busiest}: {helps}."
    if busiest.process == ACTOR:
        helps = "more actors may help" if room and hosts > actors else "smaller nets or larger batches help"
        return f"{'The actor is' if actors == 1 else f'{actors} actors are'} busy {busiest}: {helps}."
    return f"The learner is busy {busiest}: fewer epochs or a smaller net help."


def of_times(times: Times, *, hosts: int, cores: int, actors: int = 1, advises: bool = True) -> str:
    """Return the line of `sentence` for measured activity times."""
    shares = {activity: times.share(activity) for activity in times.activities}
    return sentence(shares, hosts=hosts, cores=cores, actors=actors, advises=advises)


def loads(shares: Mapping[str, float]) -> dict[str, Load]:
    """Return the load of each measured kind of process. Time without training, such as evaluations, is left out."""
    load_of = {}
    for process, waiting in WAITING.items():
        own = {activity: share for activity, share in shares.items() if names.process(activity) == process}
        whole = 1 - sum(own.pop(activity, 0.0) for activity in names.BREAKS)
        if not own or whole <= 0:
            continue
        busy = max(0.0, 1 - sum(own.get(activity, 0.0) for activity in waiting) / whole)
        work = {activity: share / whole for activity, share in own.items() if activity not in waiting}
        most = max(work, key=lambda activity: work[activity], default=f"{process}/{OTHER}")
        load_of[process] = Load(process, busy, most.partition("/")[2], work.get(most, 0.0))
    return load_of


def _limits(load: Load, shares: Mapping[str, float]) -> bool:
    """Return False for a learner that no actor waits for: it may be busy and still keep up with the actor."""
    return load.process != LEARNER or shares.get(names.HAND_OVER, 0.0) >= NOTABLE
