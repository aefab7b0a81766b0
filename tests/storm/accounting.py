"""Whether every match that began is accounted for. Pure: rows of progress.csv and counters of checkpoints in.

    begun = ended + voided + unfinished + under way          in every report, and voided is the sum of its reasons

A run that is killed goes on from its last checkpoint, and so do its counters: the equation holds without what happened
after that checkpoint. `rolled_back` says how much that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ludus.metrics import accounts, names

ENOUGH = 20  # errors that are worth reading


@dataclass(frozen=True, slots=True)
class Account:
    """Matches and decisions of one run, or of several."""

    begun: int = 0
    ended: int = 0
    voided: Mapping[str, int] = field(default_factory=dict)  # by reason
    unfinished: int = 0
    under_way: int = 0
    decisions: int = 0
    learned: int = 0
    decisions_voided: int = 0

    @property
    def missing(self) -> int:
        """Matches that began and are nowhere; negative when more ended than began."""
        return self.begun - self.ended - sum(self.voided.values()) - self.unfinished - self.under_way

    def plus(self, other: Account) -> Account:
        reasons = {*self.voided, *other.voided}
        numbers = {name: getattr(self, name) + getattr(other, name) for name in Account.__slots__ if name != "voided"}
        voided = {reason: self.voided.get(reason, 0) + other.voided.get(reason, 0) for reason in sorted(reasons)}
        return replace(self, **numbers, voided=voided)


def account(numbers: Mapping[str, float], under_way: int | None = None) -> Account:
    """Of the numbers of a report; of a checkpoint's counters, which have no gauges, with what was `under_way`."""
    voided = {
        reason: int(value) for name, value in numbers.items() if (reason := names.VOIDED_BY.end(name)) is not None
    }
    return Account(
        begun=int(numbers.get(names.BEGUN, 0)),
        ended=int(numbers.get(names.MATCHES, 0)),
        voided={reason: voided[reason] for reason in sorted(voided) if voided[reason]},
        unfinished=int(numbers.get(names.UNFINISHED, 0)),
        under_way=int(numbers.get(names.UNDER_WAY, 0)) if under_way is None else under_way,
        decisions=int(numbers.get(names.DECISIONS, 0)),
        learned=int(numbers.get(names.LEARNED, 0)),
        decisions_voided=int(numbers.get(names.VOIDED_DECISIONS, 0)),
    )


def errors(rows: Iterable[Mapping[str, str]], matches: int) -> list[str]:
    """What is wrong in the rows of a progress.csv, of a run with so many matches at once; empty when they add up."""
    wrong: list[str] = []
    for at, row in enumerate(rows):
        wrong += [f"row {at}: {error}" for error in _errors(numbers_of(row), matches)]
        if len(wrong) >= ENOUGH:
            return [*wrong[:ENOUGH], "and more"]
    return wrong


def numbers_of(row: Mapping[str, str]) -> dict[str, float]:
    """The numbers in a row of progress.csv, without empty cells and text."""
    numbers = {}
    for name, cell in row.items():
        try:
            numbers[name] = float(cell)
        except ValueError:
            continue
    return numbers


def rolled_back(last: Mapping[str, float], checkpoint: Mapping[str, float]) -> tuple[int, int]:
    """Matches begun and decisions made that the last numbers know of and the checkpoint does not."""
    matches, decisions = (last.get(name, 0) - checkpoint.get(name, 0) for name in (names.BEGUN, names.DECISIONS))
    return int(max(0, matches)), int(max(0, decisions))


def _errors(numbers: Mapping[str, float], matches: int) -> list[str]:
    wrong = []
    now = account(numbers)
    if now.missing:
        wrong.append(f"{now.missing} matches are missing: {now}")
    if sum(now.voided.values()) != numbers.get(names.VOIDED, 0):
        wrong.append(f"{names.VOIDED} is {numbers.get(names.VOIDED, 0):g}, its reasons are {dict(now.voided)}")
    if now.under_way > matches:
        wrong.append(f"{now.under_way} matches are under way, there is room for {matches}")
    if accounts.under_way(numbers) != now.under_way:
        wrong.append(f"{now.under_way} matches are under way, the counters say {accounts.under_way(numbers)}")
    return wrong
