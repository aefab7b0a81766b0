"""Makes folders of runs for the tests of `ludus watch`, with the exporters that real runs use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ludus.metrics import names
from ludus.metrics.exporters.csv import ProgressCsv
from ludus.metrics.exporters.evaluations import EvaluationLog
from ludus.metrics.intervals import wilson


@dataclass(frozen=True, slots=True)
class Won:
    """A result against one opponent, as observers see it."""

    opponent: str
    matches: int
    wins: int
    reward: float = 0.5
    reward_interval: tuple[float, float] = (0.4, 0.6)
    ties: int = 0

    @property
    def losses(self) -> int:
        return self.matches - self.wins

    @property
    def win_rate(self) -> float:
        return self.wins / self.matches

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.wins, self.matches)


CONFIG = "game: toy\noptions:\n  game: nim\nlearner:\n  lr: 0.001\nseed: 7\n"


def row(second: float, **more: float | str) -> dict[str, float | str]:
    """Return one report of a run, as `Metrics.report` gives it."""
    numbers: dict[str, float | str] = {
        names.PROGRESS: min(1.0, second / 100),
        names.PHASE: "training",
        names.TRAINING_S: second,
        names.DECISIONS: 1000 * second,
        names.MATCHES: 10 * second,
        names.UPDATES: second,
        names.DECISIONS_PER_S: 1000.0 + second,
        names.LOSS_VALUE: 1 / (1 + second),
        names.HOSTS_ALIVE: 2,
        names.HOSTS_TOTAL: 2,
        names.CORES: 2,
        names.TRAIN_WIN_RATE("past"): 0.5,
        names.FACT("reward_goal"): 2.0 + second,
        names.FACT("reward_touch"): 0.5,
        names.FACT("saves"): 1.0,
        names.SHARE("hosts/simulate"): 0.75,
        names.SHARE("hosts/wait"): 0.25,
        names.MEAN_MS("hosts/simulate"): 3.0,
        names.SHARE("learner/update"): 1.0,
    }
    return {**numbers, **more}


def make_run(
    folder: Path, seconds: int = 20, config: str = CONFIG, rows: Sequence[Mapping[str, float | str]] = ()
) -> Path:
    """Write the folder of a run that trained for so long."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(config)
    (folder / "starts.jsonl").write_text('{"version":"0.1.0","commit":"abc1234","cores":2,"system":"Linux x86_64"}\n')
    (folder / "run.log").write_text(
        "2026-01-01 10:00:00,000 INFO ludus: 5% training\n"
        "2026-01-01 10:00:01,000 WARNING ludus.fleet: host 1 (node, pid 812) sent nothing for 30 s; restarting it\n"
    )
    with ProgressCsv(folder / "progress.csv") as progress, EvaluationLog(folder / "evaluations.jsonl") as evaluations:
        for numbers in rows or [row(float(second)) for second in range(seconds)]:
            progress.on_progress(numbers)
            evaluations.on_progress(numbers)
        evaluations.on_evaluation([Won("random", 100, 80)], final=True)
    return folder
