"""Which faults a storm injects, and in which order. Pure: the same seed deals the same faults.

Faults are dealt like cards: every kind that is switched on comes up as often as its weight says before any comes up
again, so that a short storm has most of them and a long one has all of them many times.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to do harm, and what a run must do about it."""

    meaning: str
    weight: int = 1
    lasting_s: tuple[float, float] = (0.0, 0.0)  # after which the fault itself ends
    replaced: bool = False  # the process that was hit must go, and another must take its place
    alone: bool = False  # never together with other faults
    restarts: bool = False  # the run itself leaves or is killed, and is resumed
    needs: str | None = None  # servers or disk
    patience_s: float = 0.0  # in addition to the time that the scenario allows for recovery


KINDS: dict[str, Kind] = {
    "host-kill": Kind("SIGKILL to a host", weight=2, replaced=True),
    "host-stop": Kind("SIGSTOP to a host, for good", weight=2, replaced=True),
    "host-pause": Kind("SIGSTOP to a host, SIGCONT before its deadline", lasting_s=(0.1, 0.8)),
    "host-random": Kind("random bytes among a host's frames", replaced=True),
    "host-chatter": Kind("a line of text among a host's frames", replaced=True),
    "host-latin1": Kind("a frame of a host whose JSON is not UTF-8", replaced=True),
    "host-nested": Kind("a frame of a host whose JSON is nested 20,000 deep", replaced=True),
    "host-huge": Kind("the head of a frame of 4 GiB from a host", replaced=True),
    "host-half": Kind("half a frame, then the host's death", replaced=True),
    "host-dribble": Kind("a host that sends a byte now and then and never answers", replaced=True),
    "host-flood": Kind("8 MiB on a host's stderr"),
    "actor-kill": Kind("SIGKILL to the actor", replaced=True),
    "actor-stop": Kind("SIGSTOP to the actor, for good", replaced=True, patience_s=150.0),
    "actor-pause": Kind("SIGSTOP to the actor, SIGCONT after a while", lasting_s=(0.5, 3.0)),
    "server-kill": Kind("SIGKILL to a server", weight=2, replaced=True, needs="servers"),
    "server-stop": Kind("SIGSTOP to a server, for good", replaced=True, needs="servers"),
    "server-pause": Kind("SIGSTOP to a server, SIGCONT after a while", lasting_s=(0.5, 3.0), needs="servers"),
    "server-random": Kind("random bytes and half a handshake to a server's port", needs="servers"),
    "run-pause": Kind("SIGSTOP to all processes, SIGCONT after a while", lasting_s=(1.0, 4.0), alone=True),
    "disk-full": Kind("the disk of the run's folder is full for a while", lasting_s=(3.0, 8.0), needs="disk"),
    "leave-term": Kind("SIGTERM, then --resume", alone=True, restarts=True),
    "leave-int": Kind("SIGINT, then --resume", alone=True, restarts=True),
    "leave-hup": Kind("SIGHUP, then --resume", alone=True, restarts=True),
    "learner-kill": Kind("SIGKILL to the learner, then --resume", alone=True, restarts=True),
    "damage-matches": Kind("the latest checkpoint's running matches are damaged", alone=True, restarts=True),
    "damage-best": Kind("best.json is damaged", alone=True, restarts=True),
    "damage-model": Kind("one bit of the latest checkpoint's model is flipped", alone=True, restarts=True),
    "damage-telemetry": Kind("progress.csv and evaluations.jsonl are damaged", alone=True, restarts=True),
}


@dataclass(frozen=True, slots=True)
class Fault:
    kind: str
    target: int  # which of the processes of that kind, modulo how many there are
    lasting_s: float
    seed: int  # of the bytes that it sends or damages

    @property
    def of(self) -> Kind:
        return KINDS[self.kind]


@dataclass(frozen=True, slots=True)
class Gust:
    """Faults that come at once, after a pause in which the run has recovered from those before."""

    pause_s: float
    faults: tuple[Fault, ...]

    @property
    def restarts(self) -> bool:
        return any(fault.of.restarts for fault in self.faults)


def enabled(
    *, only: Collection[str] = (), without: Collection[str] = (), lacking: Collection[str] = ()
) -> tuple[str, ...]:
    """Kinds that are switched on: `only` these (empty: all), `without` those, and none that needs what is `lacking`.

    Raises ValueError for a name that is no kind.
    """
    unknown = sorted((set(only) | set(without)) - set(KINDS))
    if unknown:
        raise ValueError(f"no such fault: {', '.join(unknown)}; there are {', '.join(KINDS)}")
    return tuple(
        name
        for name, kind in KINDS.items()
        if (not only or name in only) and name not in without and kind.needs not in lacking
    )


def gusts(seed: int, kinds: Collection[str], *, pause_s: tuple[float, float], together: float = 0.25) -> Iterator[Gust]:
    """Faults without end. `together` is the share of gusts with two faults, where their kinds allow it."""
    draw = random.Random(seed)
    deck: list[str] = []
    while kinds:
        deck = deck or _shuffled(draw, kinds)
        faults = [_fault(draw, deck.pop())]
        second = bool(deck) and not faults[0].of.alone and not KINDS[deck[-1]].alone
        if second and draw.random() < together:
            faults.append(_fault(draw, deck.pop()))
        yield Gust(draw.uniform(*pause_s), tuple(faults))


def _shuffled(draw: random.Random, kinds: Collection[str]) -> list[str]:
    deck = [kind for kind in KINDS if kind in kinds for _ in range(KINDS[kind].weight)]
    draw.shuffle(deck)
    return deck


def _fault(draw: random.Random, kind: str) -> Fault:
    return Fault(kind, draw.randrange(1 << 16), draw.uniform(*KINDS[kind].lasting_s), draw.randrange(1 << 32))
