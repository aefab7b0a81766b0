"""Checks whether a program follows the host protocol: plays it with legal actions and reports a result for each rule.

`ludus hosts check -- PROGRAM ARGUMENT...` prints the results; docs/host-protocol.md has the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ludus.errors import HostError, HostRefused
from ludus.hostcheck.advice import ADVICE, Advice
from ludus.hostcheck.rules import RuleChecks
from ludus.processes.command import HostCommand

NO_HELLO = "there was no HELLO"


class Mark(Enum):
    OK = "ok"
    FAILED = "failed"
    UNTRIED = "not tried"


@dataclass(frozen=True, slots=True)
class RuleResult:
    rule: str  # as a sentence
    mark: Mark
    detail: str = ""  # what was measured, what is wrong, or why it was not tried
    advice: Advice | None = None  # what to do about it

    @property
    def ok(self) -> bool:
        return self.mark is Mark.OK


@dataclass(frozen=True, slots=True)
class CheckReport:
    results: tuple[RuleResult, ...]

    @property
    def ok(self) -> bool:
        return all(result.ok for result in self.results)

    def __str__(self) -> str:
        return "\n".join(
            f"{result.mark.value:<9}  {result.rule}{': ' if result.detail else ''}{result.detail}"
            for result in self.results
        )


def check(
    command: HostCommand,
    options: Mapping[str, Any] | None = None,  # Any: the game's own
    *,
    matches: int = 4,
    decisions: int = 400,
    seed: int = 1,
    deadline_s: float = 30.0,
) -> CheckReport:
    """Check a host and return the results of all rules. Each rule starts a process and plays about `decisions`."""
    return CheckReport(tuple(results(command, options, matches, decisions, seed, deadline_s)))


def results(
    command: HostCommand,
    options: Mapping[str, Any] | None = None,  # Any: the game's own
    matches: int = 4,
    decisions: int = 400,
    seed: int = 1,
    deadline_s: float = 30.0,
) -> Iterator[RuleResult]:
    """Yield the result of each rule as soon as it was tried."""
    checks = RuleChecks(command, dict(options or {}), matches, decisions, seed, deadline_s)
    hello = _attempt("It sends HELLO, which describes a valid game", checks.greets)
    yield hello
    if not hello.ok:
        for rule in (*_CONTENTS, *checks.rules()):
            yield RuleResult(rule, Mark.UNTRIED, NO_HELLO)
        return
    broken = None
    for result in _contents(checks):
        broken = result.advice or broken
        yield result
    for rule, attempt in checks.rules().items():
        result = _attempt(rule, attempt)
        again = result.mark is Mark.FAILED and broken is not None and result.advice == broken
        yield RuleResult(rule, Mark.UNTRIED, "it failed for the same reason as above") if again else result


_PLAYS = "It opens its matches and answers every ACTIONS frame"
_MASKS = "Every row that must choose has a legal action"
_NUMBERS = "Rewards and observations are finite"
_ENDINGS = "Matches end with a score for every seat and the right seed"
_CONTENTS = (_PLAYS, _MASKS, _NUMBERS, _ENDINGS)


def _contents(checks: RuleChecks) -> Iterator[RuleResult]:
    """Yield the results of four rules that are tried in one process. If one is broken, the others are untried."""
    played = _attempt(_PLAYS, checks.plays)
    broken = {"masks": _MASKS, "numbers": _NUMBERS, "endings": _ENDINGS}.get(
        played.advice.topic if played.advice else ""
    )
    for rule in _CONTENTS:
        if rule == (broken or _PLAYS):
            yield RuleResult(rule, played.mark, played.detail, played.advice)
        elif played.ok:
            yield RuleResult(rule, Mark.OK)
        else:
            yield RuleResult(rule, Mark.UNTRIED, "the host failed before this was tried")


def _attempt(rule: str, attempt: Callable[[], str]) -> RuleResult:
    """Call a rule's method and return its result: what it measured, or the HostError that it raised."""
    try:
        return RuleResult(rule, Mark.OK, attempt())
    except HostError as error:
        detail = f"it refused its options: {error}" if isinstance(error, HostRefused) else str(error)
        return RuleResult(rule, Mark.FAILED, detail, ADVICE.get(error.fault))
