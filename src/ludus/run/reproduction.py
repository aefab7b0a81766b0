"""Describes what made a run, and how this machine differs from the one that made it.

A run's folder may come from a stranger. Everything that is read from it is data to be shown: the commit is checked
to be a number, texts lose control characters, and settings that name places on a machine are listed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ludus.config.settings import RunConfig
from ludus.evaluation.report import EVALUATIONS
from ludus.metrics.exporters import evaluations
from ludus.metrics.intervals import wilson
from ludus.metrics.observer import ALONE
from ludus.run import provenance
from ludus.run.provenance import Provenance

SHOWN = 60  # characters of a text from a run's folder
_COMMIT = re.compile(r"[0-9a-f]{4,40}\+?")


@dataclass(frozen=True, slots=True)
class Difference:
    what: str
    then: str
    now: str


@dataclass(frozen=True, slots=True)
class RunOrigin:
    """The starts of a run and the machine it would be made on again."""

    starts: tuple[Provenance, ...]
    here: Provenance

    @property
    def first(self) -> Provenance | None:
        return self.starts[0] if self.starts else None

    @property
    def commit(self) -> str:
        """Return the commit of the first start without the + of changed sources; "" if it is unknown or malformed."""
        commit = self.first.commit if self.first is not None else ""
        return commit.removesuffix("+") if _COMMIT.fullmatch(commit) else ""

    def differences(self) -> list[Difference]:
        """Return what differs between the first start and here: code, machine and packages."""
        if self.first is None:
            return []
        then, now = _facts(self.first), _facts(self.here)
        return [
            Difference(what, printable(then.get(what) or "unknown"), printable(now.get(what) or "none"))
            for what in dict.fromkeys((*then, *now))
            if then.get(what) != now.get(what)
        ]

    def doubts(self, config: RunConfig) -> list[str]:
        """Return the reasons why the result may differ although nothing on the machine does."""
        reasons = []
        if self.first is None:
            reasons.append("the run has no record of its code and machine (starts.jsonl)")
        elif self.first.commit.endswith("+"):
            reasons.append("its sources had changes that no commit contains")
        elif not self.commit:
            reasons.append("its commit is unknown: an installed package records its version only")
        if len(self.starts) > 1:
            reasons.append(f"it was started {len(self.starts)} times; a resumed run is made again in one piece")
        if config.mode != "serial":
            reasons.append(f"mode: {config.mode} depends on timing; only mode: serial gives the same weights again")
        if config.budget.minutes:
            reasons.append("its budget is minutes: how many updates fit into them depends on the machine")
        if config.servers.count:
            reasons.append("game servers draw random numbers of their own")
        return reasons


@dataclass(frozen=True, slots=True)
class Compared:
    """The final results against one opponent, then and now."""

    opponent: str
    then: str
    now: str
    verdict: str


def origin(run_dir: Path, cores: int) -> RunOrigin:
    """Return what made a run. A missing or damaged record leaves `starts` empty."""
    return RunOrigin(tuple(provenance.read(run_dir)), provenance.here(cores))


def local_places(config: RunConfig) -> dict[str, str]:
    """Return the settings that name files or addresses of a machine, which a stranger's file may not choose."""
    places = {"start_from": config.start_from, "data.folder": config.data.folder}
    if config.metrics.prometheus is not None:
        places["metrics.prometheus"] = config.metrics.prometheus.address
    return {name: value for name, value in places.items() if value}


def compared(then: Path, now: Path) -> list[Compared]:
    """Return the final evaluations of two runs side by side; [] if one of them has none."""
    before, after = (_final(run_dir) for run_dir in (then, now))
    rows = []
    for opponent, score in before.items():
        if (other := after.get(opponent)) is None:
            continue
        if opponent == ALONE:
            intervals = [each.reward_interval for each in (score, other)]
            words = [f"{each.reward:.2f}" for each in (score, other)]
        else:
            intervals = [wilson(each.wins, each.matches) for each in (score, other)]
            words = [f"{each.wins} of {each.matches}" for each in (score, other)]
        overlap = intervals[0][0] <= intervals[1][1] and intervals[1][0] <= intervals[0][1]
        verdict = "equal" if score == other else "intervals overlap" if overlap else "differs"
        rows.append(Compared(printable(opponent), words[0], words[1], verdict))
    return rows


def printable(text: str) -> str:
    """Return a text from a run's folder as it may be printed: short, without control characters."""
    plain = "".join(each if each.isprintable() else "?" for each in text[: SHOWN + 1])
    return plain if len(plain) <= SHOWN else plain[: SHOWN - 3] + "..."


def _facts(start: Provenance) -> dict[str, str]:
    own = {"ludus": start.version, "commit": start.commit, "cores": str(start.cores), "system": start.system}
    return {**own, **({"gpu": start.gpu} if start.gpu else {}), **start.packages}


def _final(run_dir: Path) -> dict[str, evaluations.Score]:
    history: Sequence[evaluations.Evaluation] = evaluations.read(run_dir / EVALUATIONS)
    return {score.opponent: score for each in history if each.final for score in each.scores}
