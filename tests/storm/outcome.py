"""What a storm came to, and whether that is good. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.storm.accounting import Account

MOST_DESCRIPTORS = 12  # that a process may have more at its end than early on: logs, sockets on their way
MOST_GROWTH = 1.25  # of the memory of all processes, from the first quarter to the last
FEWEST_SAMPLES = 3  # of memory in a quarter


@dataclass(slots=True)
class Outcome:
    """Of one scenario. Lists of words are empty when all is well."""

    scenario: str
    seed: int
    seconds: float = 0.0
    injected: Counter[str] = field(default_factory=Counter)  # by kind
    skipped: Counter[str] = field(default_factory=Counter)  # by kind: there was no such process at that moment
    off: dict[str, str] = field(default_factory=dict)  # kind: why it was not tried
    recovery_s: dict[str, list[float]] = field(default_factory=dict)  # by kind, to full strength and new updates
    hangs: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)  # of the run that nobody asked for, and exits with another status
    mistakes: list[str] = field(default_factory=list)  # in the accounts
    leftovers: list[str] = field(default_factory=list)
    account: Account = field(default_factory=Account)
    rolled_back: tuple[int, int] = (0, 0)  # matches, decisions after the checkpoints that killed runs went on from
    updates: int = 0
    resumes: int = 0
    checkpoints: int = 0  # that were seen
    checkpoint_failures: int = 0
    descriptors: int = 0  # the most that a learner or actor had in addition, from early on to its end
    memory_mib: list[float] = field(default_factory=list)  # of all processes, whenever the run had recovered
    reports: int = 0  # report.md, after each time that the run left by itself

    @property
    def faults(self) -> int:
        return sum(self.injected.values())

    @property
    def decisions_lost(self) -> int:
        return self.account.decisions_voided + self.rolled_back[1]

    @property
    def memory(self) -> tuple[float, float]:
        """Median MiB of all processes together in the first and in the last quarter; zeros if there are too few."""
        quarter = len(self.memory_mib) // 4
        if quarter < FEWEST_SAMPLES:
            return 0.0, 0.0
        return statistics.median(self.memory_mib[:quarter]), statistics.median(self.memory_mib[-quarter:])

    @property
    def problems(self) -> list[str]:
        """All that must not be, in words."""
        named = (("hang", self.hangs), ("end", self.ends), ("accounts", self.mistakes), ("left", self.leftovers))
        problems = [f"{what}: {words}" for what, lines in named for words in lines]
        before, after = self.memory
        if before and after > MOST_GROWTH * before:
            problems.append(f"memory: {before:.0f} MiB in the first quarter, {after:.0f} MiB in the last")
        if self.descriptors > MOST_DESCRIPTORS:
            problems.append(f"descriptors: a process had {self.descriptors} more at its end")
        return problems


def summary(outcomes: list[Outcome]) -> dict[str, Any]:  # Any: one object of JSON
    """Of all scenarios together, as plain data."""
    account, times = Account(), [s for each in outcomes for kind in each.recovery_s.values() for s in kind]
    for each in outcomes:
        account = account.plus(each.account)
    return {
        "seed": outcomes[0].seed,
        "minutes": round(sum(each.seconds for each in outcomes) / 60, 1),
        "scenarios": [each.scenario for each in outcomes],
        "faults": sum(each.faults for each in outcomes),
        "faults_by_kind": dict(sorted(sum((each.injected for each in outcomes), Counter()).items())),
        "off": {f"{each.scenario} {kind}": why for each in outcomes for kind, why in each.off.items()},
        "recovery_s": _spread(times),
        "recovery_s_by_kind": _by_kind(outcomes),
        "matches": {
            "begun": account.begun,
            "ended": account.ended,
            "voided": dict(account.voided),
            "under_way": account.under_way,
            "missing": account.missing,
            "rolled_back": sum(each.rolled_back[0] for each in outcomes),
        },
        "decisions": {
            "made": account.decisions,
            "learned": account.learned,
            "in_voided_matches": account.decisions_voided,
            "rolled_back": sum(each.rolled_back[1] for each in outcomes),
            "lost": sum(each.decisions_lost for each in outcomes),
        },
        "updates": sum(each.updates for each in outcomes),
        "resumes": sum(each.resumes for each in outcomes),
        "checkpoints": sum(each.checkpoints for each in outcomes),
        "checkpoint_failures": sum(each.checkpoint_failures for each in outcomes),
        "hangs": sum(len(each.hangs) for each in outcomes),
        "unasked_ends": sum(len(each.ends) for each in outcomes),
        "leftovers": sum(len(each.leftovers) for each in outcomes),
        "descriptors_grown": max(each.descriptors for each in outcomes),
        "memory_mib": {each.scenario: [round(mib) for mib in each.memory] for each in outcomes},
        "problems": [f"{each.scenario}: {problem}" for each in outcomes for problem in each.problems],
    }


def page(result: dict[str, Any], command: str, commit: str) -> str:  # Any: as above
    """The same as Markdown; `command` made it."""
    matches, decisions, spread = result["matches"], result["decisions"], result["recovery_s"]
    voided = ", ".join(f"{count:,} {reason}" for reason, count in matches["voided"].items()) or "none"
    facts = [
        ("faults injected", f"{result['faults']:,}"),
        ("recovery, median and longest", f"{spread['median']} s, {spread['max']} s"),
        ("hangs", result["hangs"]),
        ("ends that nobody asked for", result["unasked_ends"]),
        ("matches begun", f"{matches['begun']:,}"),
        ("= ended", f"{matches['ended']:,}"),
        ("+ voided", f"{sum(matches['voided'].values()):,} ({voided})"),
        ("+ under way at the end", f"{matches['under_way']:,}"),
        ("missing", matches["missing"]),
        ("decisions made", f"{decisions['made']:,}"),
        ("decisions lost in voided matches", f"{decisions['in_voided_matches']:,}"),
        ("decisions after the checkpoint of a killed run", f"{decisions['rolled_back']:,}"),
        ("updates", f"{result['updates']:,}"),
        ("resumes", f"{result['resumes']:,}"),
        ("checkpoints seen, failed", f"{result['checkpoints']:,}, {result['checkpoint_failures']:,}"),
        ("processes, ports, shared memory and files left", result["leftovers"]),
        ("descriptors that a process had more at its end, at most", result["descriptors_grown"]),
    ]
    for scenario, (before, after) in result["memory_mib"].items():
        if before:
            facts.append((f"MiB of all processes of {scenario}, first and last quarter", f"{before:,}, {after:,}"))
    kinds = result["recovery_s_by_kind"]
    lines = [
        "# A storm",
        "",
        f"`{command}` on commit {commit}: real training runs ({', '.join(result['scenarios'])}), one after the other, "
        f"{result['minutes']:g} minutes altogether, while faults come by a seed.",
        "",
        *_table(("", ""), facts),
        "",
        "Recovery is the time from the end of a fault until all hosts and servers play again and two more updates are",
        "made; of a run that left or was killed, the time of leaving and of `--resume` included.",
        "",
        *_table(
            ("fault", "times", "median s", "longest s"),
            [
                (kind, count, kinds.get(kind, {}).get("median", ""), kinds.get(kind, {}).get("max", ""))
                for kind, count in result["faults_by_kind"].items()
            ],
        ),
        "",
    ]
    if result["off"]:
        lines += ["Not tried:", "", *(f"- {kind}: {why}" for kind, why in result["off"].items()), ""]
    if result["problems"]:
        lines += ["Problems:", "", *(f"- {problem.splitlines()[0]}" for problem in result["problems"]), ""]
    return "\n".join(lines)


def _by_kind(outcomes: list[Outcome]) -> dict[str, dict[str, float]]:
    times: dict[str, list[float]] = {}
    for each in outcomes:
        for kind, seconds in each.recovery_s.items():
            times.setdefault(kind, []).extend(seconds)
    return {kind: _spread(times[kind]) for kind in sorted(times)}


def _spread(seconds: list[float]) -> dict[str, float]:
    if not seconds:
        return {"median": 0.0, "max": 0.0}
    return {"median": round(statistics.median(seconds), 1), "max": round(max(seconds), 1)}


def _table(heads: tuple[str, ...], rows: list[tuple[Any, ...]]) -> list[str]:  # Any: cells
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    return lines + [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
