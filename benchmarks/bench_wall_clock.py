"""Compare win rates after equal wall-clock time: `mode: serial` against `mode: overlapped`, on gen 1 random battles.

    python benchmarks/bench_wall_clock.py [--quick] [--save] [--minutes 3] [--repeats 3] [--vtrace]

Each repeat trains every variant of the default preset for the same time with its own seed, in rotating order.
Checkpoints are evaluated after the run, all on the same matches, because an actor would continue to play during an
evaluation. --vtrace adds a third variant: overlapped, with `learner.algorithm: vtrace` and a longer queue. The picture
shows the share of matches won against all opponents over minutes of training. The last line on stdout is one JSON
object; --save appends it to benchmarks/results/wall_clock.jsonl and stores the picture there.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest

from ludus import run
from ludus.actors.resolved import resolve
from ludus.config import load
from ludus.config.settings import RunConfig
from ludus.config.validation import check
from ludus.evaluation import arena
from ludus.evaluation.curve import COLOURS
from ludus.games import registry
from ludus.metrics import names
from ludus.metrics.observer import Numbers, Result
from ludus.policies.checkpoints import checkpoint
from ludus.spec import GameSpec
from ludus.types import Policy

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "wall_clock.jsonl"
PICTURE = RESULTS.with_suffix(".png")
PRESET = "gen1"
AGENT = "agent"
SEED = 20_000  # of the matches that all checkpoints play
VARIANTS: dict[str, tuple[str, ...]] = {"serial": ("mode=serial",), "overlapped": ("mode=overlapped",)}
VTRACE = {"overlapped, vtrace": ("mode=overlapped", "learner.algorithm=vtrace", "rollout.queue=3", "learner.epochs=2")}


class Point(NamedTuple):
    """The win rate of a run after some time."""

    minutes: float
    won: float  # of all evaluation matches


class Trained(NamedTuple):
    curve: list[Point]
    updates: float
    decisions: float  # learned from


class Silent:
    """An observer that does nothing."""

    def on_progress(self, numbers: Numbers) -> None: ...

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None: ...


def main() -> None:
    arguments = _arguments()
    variants = {**VARIANTS, **(VTRACE if arguments.vtrace else {})}
    runs: dict[str, list[Trained]] = {name: [] for name in variants}
    order = list(variants)
    for repeat in range(arguments.repeats):
        for name in order:
            runs[name].append(_train(variants[name], repeat + 1, arguments))
            last = runs[name][-1]
            contest.say(
                f"repeat {repeat + 1} of {arguments.repeats}, {name}: {last.curve[-1].won:.1%} won, "
                f"{last.updates:,.0f} updates, {last.decisions:,.0f} decisions"
            )
        order.reverse()
    rows = {name: _row(trained) for name, trained in runs.items()}
    ratios = {
        f"overlapped_vs_serial_{what}": contest.ratio(_all(runs["overlapped"], what), _all(runs["serial"], what))
        for what in ("wins", "updates", "decisions")
    }
    contest.show(rows, ratios)
    picture = PICTURE if arguments.save else arguments.picture
    if picture is not None:
        _draw(runs, picture, arguments)
        contest.say(f"drew {picture}")
    result = {
        "bench": "wall_clock",
        "commit": contest.commit(ROOT),
        "machine": contest.machine(),
        "preset": PRESET,
        "minutes": arguments.minutes,
        "repeats": arguments.repeats,
        "matches": arguments.matches,
        "variants": variants,
        "curves": {name: [trained.curve for trained in all_] for name, all_ in runs.items()},
    }
    contest.report(result, rows, ratios, RESULTS if arguments.save else None)


def _arguments() -> argparse.Namespace:
    draws = f"append to {RESULTS.relative_to(ROOT)} and draw beside it"
    parser = contest.Options(__doc__, RESULTS, quick="coarser, in under two minutes", save=draws)
    parser.size("--minutes", 3.0, 0.2, "training time of each run")
    parser.size("--repeats", 3, 1, "runs of each variant")
    parser.size("--points", 6, 1, "checkpoints to evaluate per run")
    parser.size("--matches", 200, 20, "matches per opponent and checkpoint")
    parser.add_argument("--vtrace", action="store_true", help="also train with V-trace")
    parser.add_argument("--picture", type=Path, help="file for the picture, without --save")
    return parser.arguments()


def _train(sets: Sequence[str], seed: int, arguments: argparse.Namespace) -> Trained:
    game = registry.load("showdown")
    every_s = arguments.minutes * 60 / arguments.points
    changed = [
        *sets,
        f"seed={seed}",
        f"budget.minutes={arguments.minutes}",
        f"checkpoint.every_s={every_s}",
        f"checkpoint.keep={arguments.points + 2}",
        "evaluation.opponents=[random]",
        "evaluation.matches=2",
        "evaluation.every_updates=1000000000",
    ]
    data = load.override(load.read(game.presets / f"{PRESET}.yaml"), changed)
    resolved = resolve(data)
    with tempfile.TemporaryDirectory(prefix="ludus-bench-") as folder:
        run_dir = Path(folder) / "run"
        result = run.train(resolved, run_dir, observer=Silent())
        assert result.checkpoint is not None
        counters = checkpoint.read_state(result.checkpoint).counters
        checkpoints = sorted((run_dir / "checkpoints").glob("u*"), key=lambda path: checkpoint.read_state(path).version)
        curve = [_judged(resolved.config, path, arguments.matches) for path in checkpoints]
    return Trained(curve, result.version, counters[names.LEARNED])


def _judged(config: RunConfig, saved: Path, matches: int) -> Point:
    game = registry.load(config.game)
    opponents = tuple(game.scripted)

    def policies(spec: GameSpec) -> Mapping[str, Policy]:
        scripted = {name: game.scripted[name](spec, SEED) for name in opponents}
        return {AGENT: checkpoint.load_agent(saved, spec, game_nets=registry.nets_of(game)), **scripted}

    results = arena.play(
        game,
        check(config.options, game.options, "options"),
        policies,
        agent=AGENT,
        opponents=opponents,
        matches=matches,
        seed=SEED,
        log_dir=saved / "logs",
        fleet=config.fleet,
    )
    won = sum(result.wins for result in results) / sum(result.matches for result in results)
    return Point(checkpoint.read_state(saved).training_s / 60, won)


def _all(runs: Sequence[Trained], what: str) -> list[float]:
    """Return a number of each run at its end, never 0, so that ratios exist."""
    numbers = [{"wins": each.curve[-1].won, "updates": each.updates, "decisions": each.decisions} for each in runs]
    return [max(number[what], 1e-9) for number in numbers]


def _row(runs: Sequence[Trained]) -> dict[str, float]:
    return {
        **contest.summary(_all(runs, "wins")),
        "updates": statistics.median(_all(runs, "updates")),
        "decisions": statistics.median(_all(runs, "decisions")),
    }


def _draw(runs: Mapping[str, Sequence[Trained]], path: Path, arguments: argparse.Namespace) -> None:
    """Plot a thin line per run and, if there are several, a thick line through the medians."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for colour, (name, trained) in zip(COLOURS, runs.items(), strict=False):
        for each in trained:
            axes.plot(*zip(*each.curve, strict=True), color=colour, linewidth=0.8, alpha=0.5)
        points = min(len(each.curve) for each in trained)
        nth = [[each.curve[point] for each in trained] for point in range(points)]
        medians = [(statistics.median(p.minutes for p in at), statistics.median(p.won for p in at)) for at in nth]
        axes.plot(*zip(*medians, strict=True), color=colour, linewidth=2.2, marker="o", markersize=4, label=name)
    axes.set_ylim(0, 1)
    axes.set_yticks([tick / 5 for tick in range(6)], [f"{20 * tick}%" for tick in range(6)])
    axes.set_xlim(0, None)
    axes.set_xlabel("minutes of training")
    axes.set_ylabel(f"won of {arguments.matches} matches against each opponent")
    axes.set_title("Wins after equal wall-clock, gen1randombattle", loc="left", fontsize=12)
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(path)


if __name__ == "__main__":
    main()
