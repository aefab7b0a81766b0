"""evaluations.jsonl: one line an evaluation, from which the report draws the learning curve."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ludus.metrics import names
from ludus.metrics.exporters.text import number
from ludus.metrics.observer import Numbers, Result

MOST_MATCHES = 2**53  # in one evaluation; a float holds every whole number up to here


class Score(msgspec.Struct, frozen=True):
    """Matches against one opponent."""

    opponent: str
    matches: int
    wins: int
    losses: int
    ties: int
    reward: float = 0.0  # that the agent earned in a match, mean
    reward_interval: tuple[float, float] = (0.0, 0.0)


class Evaluation(msgspec.Struct, frozen=True):
    """When in the run, and how it went."""

    training_s: float
    updates: float
    decisions: float
    final: bool
    scores: tuple[Score, ...]


class EvaluationLog:
    """Appends to a file that another part of the same run may have begun; what a resumed run plays again is dropped."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._numbers: Numbers = {}

    def on_progress(self, numbers: Numbers) -> None:
        if not self._numbers:
            self._drop_after(number(numbers, names.TRAINING_S))
        self._numbers = numbers

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        training_s, updates, decisions = (
            _finite(number(self._numbers, name)) for name in (names.TRAINING_S, names.UPDATES, names.DECISIONS)
        )
        scores = tuple(
            Score(each.opponent, each.matches, each.wins, each.losses, each.ties, each.reward, each.reward_interval)
            for each in results
        )
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(Evaluation(training_s, updates, decisions, final, scores)) + b"\n")

    def _drop_after(self, training_s: float) -> None:
        found = read(self._path)
        kept = [each for each in found if not each.training_s > training_s and not each.final]
        if len(kept) < len(found):
            partial = self._path.with_name(self._path.name + ".partial")
            partial.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in kept))
            os.replace(partial, self._path)


def read(path: Path) -> list[Evaluation]:
    """The evaluations of a run, in order; damaged lines, as one that a crash cut short, are left out. [] when there is
    no file."""
    if not path.exists():
        return []
    found = []
    for line in path.read_bytes().splitlines():
        try:
            evaluation = msgspec.json.decode(line, type=Evaluation)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if all(0 <= score.wins <= score.matches <= MOST_MATCHES for score in evaluation.scores):
            found.append(evaluation)
    return found


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0
