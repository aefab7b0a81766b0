"""Measure how close self-play comes to equilibrium in poker, with PPO, PPO with a KL penalty, and R-NaD.

    python benchmarks/bench_equilibria.py [--quick] [--save] [--games kuhn leduc] [--algorithms rnad] [--seeds 1 2 3]

Each algorithm has its own settings. NashConv is exact (OpenSpiel walks the whole tree) and is computed for the result
of the run. `rows` contain the median and spread over the last tenth of each run and all seeds; `curves` contain the
whole course, with CPU seconds on one core. Uniform play has 0.917 in Kuhn poker and 4.75 in Leduc poker. The last line
on stdout is one JSON object; --save appends it to benchmarks/results/equilibria.jsonl and draws equilibria.png from the
latest curves of each game.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest
from benchmarks.drivers.equilibria import Point, learn, preset

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "equilibria.jsonl"
PICTURE = RESULTS.with_suffix(".png")
GOALS = {"kuhn": 0.05, "leduc": 0.6}
COLOURS = {"ppo": "#D55E00", "ppo_kl": "#0072B2", "rnad": "#009E73"}
PPO = ("learner.algorithm=ppo", "learner.epochs=2", "learner.ppo.gae_lambda=1.0", "learner.value_coef=0.5")
HELD = (
    "learner.algorithm=ppo_kl",
    "learner.entropy_coef=0",
    "learner.ppo.target_kl=0",
    "learner.ppo_kl.result_share=0.03",
)
KUHN = (*PPO, "learner.minibatch=512", "learner.lr=3e-3", "learner.lr_end=1e-4")
LEDUC = (
    *PPO,
    "learner.decisions=8192",
    "learner.minibatch=2048",
    "learner.lr=4e-3",
    "learner.lr_end=1e-4",
    "learner.lr_schedule=cosine",
    "learner.max_grad_norm=0.5",
    "budget.updates=400",
)
ALGORITHMS: dict[str, dict[str, tuple[str, ...]]] = {  # what each game's preset is changed by
    "kuhn": {
        "ppo": KUHN,
        "ppo_kl": (
            *KUHN,
            *HELD,
            "learner.ppo_kl.coef=1.0",
            "learner.ppo_kl.refresh=20",
            "learner.decisions=3072",  # with half of it the noise of its samples keeps it at 0.06 to 0.12
            "learner.minibatch=1024",
        ),
        "rnad": (),  # as the preset says
    },
    "leduc": {
        "ppo": LEDUC,
        "ppo_kl": (
            *LEDUC,
            *HELD,
            "learner.ppo.clip=0.1",
            "learner.ppo_kl.coef=0.1",
            "learner.ppo_kl.refresh=100000",  # held near the policy that it begins with, which is nearly uniform
        ),
        "rnad": (),
    },
}
POINTS = 40  # in a curve

Curves = dict[str, list[list[Point]]]  # "game, algorithm" -> a curve for each seed


def main() -> None:
    arguments = _arguments()
    curves: Curves = {}
    for game in arguments.games:
        for seed in arguments.seeds:
            for algorithm in arguments.algorithms:
                sets = (*ALGORITHMS[game][algorithm], f"seed={seed}")
                curve = _run(game, sets, quick=arguments.quick)
                curves.setdefault(f"{game}, {algorithm}", []).append(curve)
                contest.say(f"{game}, {algorithm}, seed {seed}: {curve[-1].nash_conv:.3f} in {curve[-1].cpu_s:.0f} s")
    result = report(curves)
    if arguments.save:
        with RESULTS.open("a") as file:
            file.write(json.dumps(result) + "\n")
        draw(latest(RESULTS.read_text().splitlines()), PICTURE)
    print(json.dumps(result))


def _run(game: str, sets: Sequence[str], *, quick: bool) -> list[Point]:
    config = preset(game, *sets)
    if quick:
        config = preset(game, *sets, f"budget.updates={config.budget.updates // 20}")
    return list(learn(config, every=max(1, config.budget.updates // POINTS)))


def report(curves: Curves) -> dict[str, object]:
    """Print and store the result, with the curves."""
    rows = {name: _end(points) for name, points in curves.items()}
    ratios = {}
    for game in dict.fromkeys(name.partition(", ")[0] for name in curves):
        points = {algorithm: rows.get(f"{game}, {algorithm}") for algorithm in COLOURS}
        plain = points.pop("ppo")
        if plain is not None:
            for algorithm, row in points.items():
                if row is not None:
                    ratios[f"{algorithm}_vs_ppo_{game}"] = round(row["median"] / plain["median"], 3)
    return {
        "bench": "equilibria",
        "commit": contest.commit(ROOT),
        "machine": contest.machine(),
        "unit": "NashConv",
        "rows": rows,
        "ratios": ratios,
        "goals": GOALS,
        "curves": {name: msgspec.to_builtins(points) for name, points in curves.items()},
    }


def _end(curves: Sequence[Sequence[Point]]) -> dict[str, float]:
    """Return NashConv over the last tenth of all curves, the CPU seconds, and the minimum."""
    last = [point.nash_conv for curve in curves for point in curve[-max(1, len(curve) // 10) :]]
    least = statistics.median(min(point.nash_conv for point in curve) for curve in curves)
    return contest.summary(last, least=least, cpu_s=statistics.median(curve[-1].cpu_s for curve in curves))


def latest(lines: Sequence[str]) -> Curves:
    """Return the last saved curves of each game and algorithm, which may come from different runs."""
    points: Curves = {}
    for line in lines:
        points |= msgspec.convert(json.loads(line)["curves"], Curves)
    return points


def draw(curves: Mapping[str, Sequence[Sequence[Point]]], path: Path) -> None:
    """Plot NashConv over decisions: a panel per game, a colour per algorithm, a line per seed; the goal is dashed."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    games = list(dict.fromkeys(name.partition(", ")[0] for name in curves))
    figure = Figure(figsize=(5.2 * len(games), 4.2), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    for index, game in enumerate(games):
        axes = figure.add_subplot(1, len(games), index + 1)
        for name, points in curves.items():
            where, _, algorithm = name.partition(", ")
            for number, curve in enumerate(points if where == game else ()):
                x, y = [point.decisions / 1e6 for point in curve], [point.nash_conv for point in curve]
                label = algorithm.replace("_", "-") if number == 0 else None
                axes.plot(x, y, color=COLOURS[algorithm], linewidth=1.6, label=label)
        axes.axhline(GOALS[game], color="#888888", linewidth=0.8, linestyle=(0, (4, 4)), zorder=0)
        axes.set_yscale("log")
        axes.set_title(f"{game.capitalize()} poker", loc="left", fontsize=12)
        axes.set_xlabel("million decisions")
        if index == 0:
            axes.set_ylabel("NashConv: 0 in an equilibrium")
        axes.legend(frameon=False)
        axes.grid(axis="y", color="#E6E6E6", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def _arguments() -> argparse.Namespace:
    draws = f"append to {RESULTS.name} and draw {PICTURE.name}"
    quick = "a twentieth of the updates: only that it runs"
    parser = contest.Options((__doc__ or "").split("\n")[0], RESULTS, quick=quick, save=draws)
    parser.add_argument("--games", nargs="+", choices=tuple(GOALS), default=list(GOALS))
    parser.add_argument("--algorithms", nargs="+", choices=tuple(COLOURS), default=list(COLOURS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    return parser.arguments()


if __name__ == "__main__":
    main()
