"""Small datasets of the toy games."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ludus.api.generating import Generation, generate
from ludus.data.match_ledger import LedgerShard, Matches


def played(
    folder: Path, matches: int = 200, *, a: str = "perfect", b: str | None = "random", **arguments: object
) -> Generation:
    """Generate matches of nim on one host."""
    return generate(
        f"scripted:{a}",
        None if b is None else f"scripted:{b}",
        matches=matches,
        out=folder,
        game="toy:nim",
        workers=1,
        **arguments,  # type: ignore[arg-type]  # of several types
    )


def flip_byte(path: Path) -> None:
    """Change one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def shard(matches: int = 5, seats: int = 2, actions: int = 10, seed: int = 0) -> LedgerShard:
    """Return a shard of random matches, whose actions and logs differ in length."""
    random = np.random.default_rng(seed)
    count = random.integers(0, 7, (matches, seats)).astype(np.int32)
    logs = [f"log {number}, é" * number for number in range(matches)]
    return LedgerShard(
        Matches(
            number=np.arange(matches, dtype=np.int64),
            seed=random.integers(0, 2**53, matches),
            policy=random.integers(0, 2, (matches, seats)).astype(np.uint16),
            count=count,
            score=random.integers(0, 2, (matches, seats)).astype(np.float32),
            reward=random.normal(size=(matches, seats)).astype(np.float32),
            rating=np.full((matches, seats), np.nan, np.float32),
            truncated=random.integers(0, 2, matches).astype(np.bool_),
            facts=random.normal(size=(matches, 2)).astype(np.float32),
            log_bytes=np.array([len(log.encode()) for log in logs], np.int32),
        ),
        random.integers(0, actions, int(count.sum())).astype(np.int32),
        ("turns", "refused"),
        "".join(logs).encode(),
    )
