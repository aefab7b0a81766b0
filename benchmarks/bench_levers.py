"""Find out which changes of the settings make an agent stronger, with few trainings: each one tests several changes.

    python benchmarks/bench_levers.py gen9 --minutes 23 --beside 8 [--out runs/levers-gen9] [--save]
    python benchmarks/bench_levers.py rocket --minutes 25 --beside 8 --matches 1000

Trains the preset eight times, with and without each of five changes (SWEEPS), in an orthogonal design: each change is
made in four of the eight trainings, and any two changes are made together in two of them. So the mean difference
between the four with a change and the four without it is the effect of that change, as exact as if all eight trainings
had been spent on it alone. It holds as far as one change does not depend on another. --beside 8 trains eight at a time,
each on an eighth of the cores. Call the command again after Ctrl-C or a crash: finished trainings are kept, and the
others are continued. --quick trains for half a minute and plays 40 matches. --save writes sweep-NAME.md to
benchmarks/results.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest
from benchmarks.bench_formats import final_evaluation

from ludus.api import settings_source
from ludus.diagnostics import ablation_training
from ludus.diagnostics.ablation import Training, TrainingOutcome
from ludus.metrics.exporters.evaluations import Evaluation
from ludus.metrics.intervals import student_quantile
from ludus.processes.cores import cores
from ludus.run import provenance

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
QUICK_MINUTES, QUICK_MATCHES = 0.5, 40


@dataclass(frozen=True, slots=True)
class Lever:
    """A change of settings, and the settings without it where they are not those of the preset."""

    name: str
    made: tuple[str, ...]
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sweep:
    """Five changes of a preset, settings that all its trainings have, and the opponents that measure the agents."""

    title: str
    common: tuple[str, ...]
    opponents: tuple[str, ...]
    levers: tuple[Lever, ...]


SWEEPS = {
    "gen9": Sweep(
        "gen 9 random battles; neither opponent was met in training",
        ("policy.width=128", "policy.value.bins=51"),
        ("max_damage", "heuristic"),
        (
            Lever(
                "without the groups last_turn, speed and evidence", ("options.leave_out=[last_turn,speed,evidence]",)
            ),
            Lever(
                "reward without shaping and gamma 0.997 in the last 30%",
                (
                    "curriculum=[{name: shaped, promote: {budget: 0.7}}, "
                    "{name: result, set: {options.reward_shaping: 0, learner.gamma: 0.997}}]",
                ),
            ),
            Lever(
                "net tokens with 3 layers, lr 7e-4, instead of pointer with context 256, lr 2e-3",
                ("policy.net=tokens", "policy.layers=3", "learner.lr=7e-4"),
                ("policy.context=256",),
            ),
            Lever(
                "batches of 16,384 in minibatches of 2,048 instead of 4,096 in 512",
                ("learner.decisions=16384", "learner.minibatch=2048"),
                ("learner.decisions=4096", "learner.minibatch=512"),
            ),
            Lever("entropy_coef 0.003 instead of 0.01", ("learner.entropy_coef=0.003",)),
        ),
    ),
    "rocket": Sweep(
        "Rocket League 1v1; chaser was met in training, keeper was not",
        (),
        ("chaser", "keeper"),
        (
            Lever("rewards that sum to zero", ("options.opponent_scale=1",)),
            Lever("lr 2e-3 instead of 1e-3", ("learner.lr=2e-3",)),
            Lever("entropy_coef 0.001 instead of 0.003", ("learner.entropy_coef=0.001",)),
            Lever(
                "batches of 32,768 in minibatches of 4,096 instead of 8,192 in 1,024",
                ("learner.decisions=32768", "learner.minibatch=4096"),
            ),
            Lever("width 128 instead of 64", ("policy.width=128",)),
        ),
    ),
}


def design() -> list[tuple[bool, ...]]:
    """Return which changes each training makes: all combinations of the first three; the others follow from them.

    The fourth change is made where the first two are both made or both left out, the fifth where the first and the
    third are. The main effect of each of the last four is therefore confounded only with interactions of the first.
    """
    rows = itertools.product((False, True), repeat=3)
    return [(first, second, third, first == second, first == third) for third, second, first in rows]


def name_of(row: Sequence[bool]) -> str:
    """Return the folder of a training: the numbers of its changes."""
    return "+".join(str(number) for number, made in enumerate(row, 1) if made) or "none"


def main() -> None:
    arguments = _arguments()
    sweep = SWEEPS[arguments.sweep]
    out = arguments.out or Path("runs") / f"levers-{arguments.sweep}"
    rows = design()
    names = [name_of(row) for row in rows]
    due = [Training(name, 1) for name in names if final_evaluation(out / name / "run") is None]
    minutes = QUICK_MINUTES if arguments.quick else arguments.minutes
    matches = QUICK_MATCHES if arguments.quick else arguments.matches

    def train(training: Training, tell: Callable[[], None]) -> TrainingOutcome:
        settings = settings_of(arguments.sweep, rows[names.index(training.variant)], minutes, matches)
        return ablation_training.train(training, settings, out / training.variant, minutes=minutes, tell=tell)

    with closing(ablation_training.train_all(due, arguments.beside, train, lambda: None)) as outcomes:
        for outcome in outcomes:
            contest.say(f"{outcome.training.variant}: {outcome.failure or f'strength {outcome.strength:.3f}'}")
    results = [final_evaluation(out / name / "run") for name in names]
    finished = [result for result in results if result is not None]
    if len(finished) < len(rows):
        raise SystemExit(f"{len(rows) - len(finished)} trainings have no evaluation; see output.log in {out}")
    command = f"bench_levers.py {arguments.sweep} --minutes {minutes:g}"
    page = page_of(sweep, rows, finished, place_of(out / names[0] / "run"), command)
    print(page)
    if arguments.save:
        (RESULTS / f"sweep-{arguments.sweep}.md").write_text(page, encoding="utf-8")


def settings_of(
    name: str, row: Sequence[bool], minutes: float, matches: int
) -> dict[str, Any]:  # Any: plain data of a run
    """Return the settings of a training of a sweep, as plain data."""
    sweep = SWEEPS[name]
    changes = [lever.made if made else lever.left for lever, made in zip(sweep.levers, row, strict=True)]
    common = (
        *sweep.common,
        "seed=1",
        f"budget.minutes={minutes:g}",
        f"evaluation.matches={matches}",
        f"evaluation.quick_matches={min(matches, 200)}",
        f"evaluation.opponents=[{','.join(sweep.opponents)}]",
    )
    run = settings_source.resolved(settings_source.of(name), (*common, *itertools.chain(*changes)))
    settings: dict[str, Any] = msgspec.to_builtins(run.config)
    return settings


def place_of(run: Path) -> str:
    """Say where a run was trained."""
    start = provenance.read(run)[-1]
    return f"{start.cores} cores{f' and {start.gpu}' if start.gpu else ''} for each training, commit {start.commit}"


def effects(rows: Sequence[Sequence[bool]], values: Sequence[float]) -> tuple[list[float], float]:
    """Return the effect of each change on `values`, and how far the 95% intervals of all of them reach to each side.

    The noise is estimated from what a linear model of the changes does not explain.
    """
    signs = np.where(np.array(rows), 0.5, -0.5)
    model = np.column_stack((np.ones(len(rows)), signs))
    parts, *_ = np.linalg.lstsq(model, np.array(values), rcond=None)
    degrees = len(rows) - model.shape[1]
    variance = float(((np.array(values) - model @ parts) ** 2).sum()) / degrees
    half = student_quantile(degrees) * (4 * variance / len(rows)) ** 0.5
    return [float(part) for part in parts[1:]], half


def page_of(
    sweep: Sweep, rows: Sequence[Sequence[bool]], results: Sequence[Evaluation], place: str, command: str
) -> str:
    """Return the results as a page in Markdown."""
    shares = [{score.opponent: score.wins / score.matches for score in each.scores} for each in results]
    matches = min(score.matches for each in results for score in each.scores)
    changes = {opponent: effects(rows, [each[opponent] for each in shares]) for opponent in sweep.opponents}
    means, reach = effects(rows, [sum(each.values()) / len(each) for each in shares])
    lines = [
        f"# What each of five changes is worth: {sweep.title.partition(';')[0]}",
        "",
        f"Written by `benchmarks/{command}`: {results[0].training_s / 60:.0f} minutes on {place};",
        f"{matches:,} matches against each opponent ({sweep.title.partition('; ')[2]}).",
        "",
        "## Changes",
        "",
        "Each is the mean of four trainings with the change minus that of four without it, in points.",
        "",
        f"| | change | {' | '.join(sweep.opponents)} | mean |",
        "| --- | --- |" + " ---: |" * (len(sweep.opponents) + 1),
    ]
    for number, (lever, mean) in enumerate(zip(sweep.levers, means, strict=True), 1):
        cells = [f"{100 * changes[opponent][0][number - 1]:+.1f}" for opponent in sweep.opponents]
        lines.append(f"| {number} | {lever.name} | {' | '.join(cells)} | {100 * mean:+.1f} |")
    lines += [
        "",
        f"95% intervals of the means reach {100 * reach:.1f} points to both sides (Student's, with "
        f"{len(rows) - len(sweep.levers) - 1} degrees of freedom).",
        "",
        "## Trainings",
        "",
        f"| changes made | decisions | {' | '.join(sweep.opponents)} |",
        "| --- | ---: |" + " ---: |" * len(sweep.opponents),
    ]
    for row, result, share in zip(rows, results, shares, strict=True):
        cells = [f"{share[opponent]:.1%}" for opponent in sweep.opponents]
        lines.append(f"| {name_of(row)} | {result.decisions / 1e6:.1f} M | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sweep", choices=list(SWEEPS), help="the preset and its changes")
    parser.add_argument("--minutes", type=float, default=23.0, help="training time of each training (23)")
    parser.add_argument("--matches", type=int, default=2000, help="matches against each opponent at the end (2,000)")
    parser.add_argument("--out", type=Path, help="folder of the trainings (runs/levers-NAME)")
    parser.add_argument("--beside", type=int, default=1, help="trainings at the same time, on parts of the cores (1)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_MINUTES:g} minutes and {QUICK_MATCHES} matches")
    parser.add_argument("--save", action="store_true", help="also write benchmarks/results/sweep-NAME.md")
    arguments = parser.parse_args()
    if not 1 <= arguments.beside <= cores():
        parser.error(f"--beside: each training needs a core of its own, and there are {cores()}")
    return arguments


if __name__ == "__main__":
    main()
