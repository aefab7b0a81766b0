"""evaluations.jsonl: one line per evaluation, from which the report draws the learning curve."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import msgspec

from ludus import files
from ludus.files import Appender
from ludus.metrics import names
from ludus.metrics.exporters.text import number
from ludus.metrics.observer import Numbers, Result

log = logging.getLogger(__name__)


class Score(msgspec.Struct, frozen=True):
    """Results against one opponent."""

    opponent: str
    matches: int
    wins: int
    losses: int
    ties: int
    reward: float = 0.0  # mean reward of the agent per match
    reward_interval: tuple[float, float] = (0.0, 0.0)


class Evaluation(msgspec.Struct, frozen=True):
    """One evaluation: its time in the run and its results."""

    training_s: float
    updates: float
    decisions: float
    final: bool
    scores: tuple[Score, ...]
    elo: float | None = None  # rating at this time; None in games with one seat, and in lines of earlier versions
    elo_interval: tuple[float, float] | None = None  # its 95% interval


class EvaluationLog:
    """Appends to the evaluations.jsonl of a run. A resumed run first drops the evaluations after its checkpoint.

    Raises OSError if an evaluation cannot be written; the next successful call writes it as well.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = Appender(path)
        self._numbers: Numbers = {}
        self._begun_s: float | None = (
            None  # training time at which this start of the run began; None once the file is open
        )
        self._unwritten: list[bytes] = []

    def on_progress(self, numbers: Numbers) -> None:
        if not self._numbers:
            self._begun_s = number(numbers, names.TRAINING_S)
        self._numbers = numbers
        self._write()

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        training_s, updates, decisions = (
            _finite(number(self._numbers, name)) for name in (names.TRAINING_S, names.UPDATES, names.DECISIONS)
        )
        scores = tuple(
            Score(each.opponent, each.matches, each.wins, each.losses, each.ties, each.reward, each.reward_interval)
            for each in results
        )
        elo, low, high = (number(self._numbers, name) for name in (names.ELO, names.ELO_LOW, names.ELO_HIGH))
        is_rated = math.isfinite(elo + low + high)
        evaluation = Evaluation(
            training_s, updates, decisions, final, scores, elo if is_rated else None, (low, high) if is_rated else None
        )
        self._unwritten.append(msgspec.json.encode(evaluation) + b"\n")
        self._write()

    def close(self) -> None:
        """Write the pending evaluations and close the file."""
        try:
            self._write()
        finally:
            self._file.close()

    def __enter__(self) -> EvaluationLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self) -> None:
        if self._begun_s is not None:
            self._drop_after(self._begun_s)
            self._begun_s = None
        if self._unwritten:
            self._file.write(b"".join(self._unwritten))
            self._unwritten.clear()

    def _drop_after(self, training_s: float) -> None:
        history = scan(self._path)
        earlier = [each for each in history.evaluations if not each.training_s > training_s and not each.final]
        if len(earlier) == len(history.evaluations) and not history.damaged:
            return
        aside = files.aside(self._path) if history.damaged else None
        files.replace(self._path, b"".join(msgspec.json.encode(each) + b"\n" for each in earlier), aside=aside)
        if aside is not None:
            _tell(self._path, history, f"kept as {aside.name}")


@dataclass(frozen=True, slots=True)
class History:
    evaluations: list[Evaluation]
    damaged: int = 0  # number of lines that cannot be parsed


def read(path: Path) -> list[Evaluation]:
    """Return the evaluations of a run in order, or [] if there is no file. Damaged lines are skipped and logged."""
    try:
        history = scan(path)
    except OSError as error:
        log.warning("%s cannot be read: %s", path, files.reason(error))
        return []
    if history.damaged:
        _tell(path, history, "left as it is")
    return history.evaluations


def scan(path: Path) -> History:
    """Read the file. An incomplete last line (after a crash) is skipped and not counted as damaged. Raises OSError."""
    evaluations: list[Evaluation] = []
    damaged = cut_short = 0
    for line in files.lines(path):
        damaged, cut_short = damaged + cut_short, 0
        evaluation = _decoded(line)
        if evaluation is None:
            cut_short = 1  # so far
        else:
            evaluations.append(evaluation)
    return History(evaluations, damaged)


def _decoded(line: bytes | None) -> Evaluation | None:
    """Parse a line. Returns None if it is not a valid evaluation."""
    if line is None:
        return None
    try:
        evaluation = msgspec.json.decode(line, type=Evaluation)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # ValueError: invalid UTF-8
        return None
    possible = all(
        0 <= score.wins <= score.matches and 0 <= score.losses <= score.matches and 0 <= score.ties <= score.matches
        for score in evaluation.scores
    )
    return evaluation if possible else None


def _tell(path: Path, history: History, fate: str) -> None:
    log.warning(
        "%s has %d damaged lines, which are left out; %d evaluations can be read. The damaged file is %s",
        path,
        history.damaged,
        len(history.evaluations),
        fate,
    )


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0
