"""A real Forge, for tests that play on it: where it is, its decks, and matches that answer by what they see."""

from __future__ import annotations

import hashlib
import os
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ludus.config.settings import FleetConfig
from ludus.fleet.fleet import HostFleet
from ludus.games import registry
from ludus.types import Arrivals, Ending, Policy

GAME = registry.load("forge")
DEADLINE_S = 120.0
FLEET = FleetConfig(hello_deadline_s=300.0, reply_deadline_s=120.0)


def home() -> Path:
    return Path(os.environ["FORGE_HOME"])


def ten_decks() -> tuple[str, ...]:
    """Return ten decks of sixty cards that come with Forge, the same ones every time."""
    whole: list[str] = []
    for path in sorted((home() / "res" / "quest" / "precons").glob("*.dck")):
        main = re.search(r"\[main\](.*?)(\n\[|$)", path.read_text(encoding="utf-8", errors="replace"), re.S | re.I)
        if main and sum(map(int, re.findall(r"^(\d+) ", main[1], re.M))) == 60:
            whole.append(str(path))
    random.Random(5).shuffle(whole)
    return tuple(sorted(whole[:10]))


@contextmanager
def fleet(
    logs: Path,
    schedule: list[tuple[int, int]] | None = None,
    *,
    hosts: int = 1,
    matches: int = 4,
    config: FleetConfig = FLEET,
    **options: Any,  # Any: options of the game
) -> Iterator[HostFleet]:
    checked = msgspec.convert(options, GAME.options)
    settings = msgspec.structs.replace(config, matches=matches)
    command = GAME.command(checked)
    built = msgspec.to_builtins(checked)
    with HostFleet(command, settings, options=built, seed=1, log_dir=logs, hosts=hosts, schedule=schedule) as running:
        yield running


def play(running: HostFleet, matches: int, policy: Policy | None = None) -> tuple[list[Ending], dict[int, str]]:
    """Answer each row with a policy, or by a hash of what it shows, until so many matches have ended.
    Returns the endings, voided matches among them, and a digest of all that each match showed and was answered."""
    endings: list[Ending] = []
    digests: dict[int, Any] = defaultdict(hashlib.sha256)  # Any: hash objects have no public type
    while len(endings) < matches:
        arrivals = running.recv(DEADLINE_S)
        endings += arrivals.endings
        assert len(arrivals) or arrivals.endings, "nothing happened within the deadline"
        if len(arrivals):
            action = answers(arrivals) if policy is None else policy.act(arrivals).action
            for at, match in enumerate(arrivals.match.tolist()):
                digests[match].update(arrivals.obs[at].tobytes() + bytes([int(action[at])]))
            running.send(arrivals.row, action)
    return endings, {match: digest.hexdigest() for match, digest in digests.items()}


def answers(arrivals: Arrivals) -> np.ndarray[Any, np.dtype[np.int32]]:  # Any: the shape
    """Return an action for each row that depends on nothing but its observation."""
    action = np.zeros(len(arrivals), np.int32)
    for at, legal in enumerate(arrivals.legal):
        choices = np.flatnonzero(legal)
        drawn = int.from_bytes(hashlib.blake2b(arrivals.obs[at].tobytes(), digest_size=4).digest(), "little")
        action[at] = choices[drawn % len(choices)]
    return action
