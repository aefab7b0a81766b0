"""Compare uniform past selves, PFSP and a league with exploiters, by exact exploitability in poker or by Elo in gen 1.

    python benchmarks/bench_matchmaking.py [--quick] [--save] [--games kuhn leduc] [--seeds 1 2 3] [--updates 300]
    python benchmarks/bench_matchmaking.py --games gen1 --minutes 20

Poker: all three ways use the same number of decisions, those of the exploiters included. NashConv is exact. `rows` have
the median and spread over the last fifth of each run and all seeds, `curves` the whole course. gen1: `ludus train gen1`
for the same wall-clock, one way after the other, then `ludus league play` among the results and `ludus league exploit`
against each. The last line on stdout is one JSON object; --save appends it to benchmarks/results/matchmaking.jsonl and
draws matchmaking.png from the poker curves.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import bench_equilibria, contest
from benchmarks.drivers.equilibria import Point, preset
from benchmarks.drivers.matchmaking import Way, learn

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "matchmaking.jsonl"
PICTURE = RESULTS.with_suffix(".png")
WAYS: tuple[Way, ...] = get_args(Way)
POKER = ("kuhn", "leduc")
COLOURS = {"uniform": "#D55E00", "pfsp": "#0072B2", "league": "#009E73"}
POINTS = 12
SMALL = ("learner.decisions=512", "learner.minibatch=256")  # so that exploiters make several updates, too
GEN1: dict[Way, tuple[str, ...]] = {  # settings of `ludus train gen1`; the league has an agent of its own kind
    "uniform": ("opponents.choose=uniform",),
    "pfsp": ("opponents.choose=pfsp",),
    "league": (),
}

Curves = dict[str, list[list[Point]]]  # "game, way" -> a curve for each seed


def main() -> None:
    arguments = _arguments()
    result: dict[str, Any] = {"bench": "matchmaking", "commit": contest.commit(ROOT), "machine": contest.machine()}
    curves: Curves = {}
    for game in arguments.games:
        if game in POKER:
            curves |= poker(game, arguments.seeds, 36 if arguments.quick else arguments.updates)
        else:
            result["gen1"] = gen1(0.5 if arguments.quick else arguments.minutes)
    result |= {"unit": "NashConv", **report(curves), "curves": msgspec.to_builtins(curves)}
    if arguments.save:
        with RESULTS.open("a") as file:
            file.write(json.dumps(result) + "\n")
        if curves:
            draw(curves, PICTURE)
    print(json.dumps(result))


def poker(game: str, seeds: Sequence[int], updates: int) -> Curves:
    """Train each way with each seed."""
    curves: Curves = {}
    for seed in seeds:
        for way in WAYS:
            sets = (*bench_equilibria.ALGORITHMS[game]["ppo"], f"seed={seed}", *SMALL, f"budget.updates={updates}")
            curve = list(learn(preset(game, *sets), way, points=POINTS))
            curves.setdefault(f"{game}, {way}", []).append(curve)
            contest.say(f"{game}, {way}, seed {seed}: {curve[-1].nash_conv:.3f} in {curve[-1].cpu_s:.0f} s")
    return curves


def report(curves: Curves) -> dict[str, Any]:
    """Return rows and ratios."""
    rows = {}
    for name, runs in curves.items():
        last = [point.nash_conv for curve in runs for point in curve[-max(1, len(curve) // 5) :]]
        mean = statistics.mean(statistics.mean(point.nash_conv for point in curve) for curve in runs)
        rows[name] = contest.summary(last, mean_of_course=mean, decisions=runs[0][-1].decisions)
    ratios = {}
    for game in dict.fromkeys(name.partition(", ")[0] for name in curves):
        for way in ("pfsp", "league"):
            if f"{game}, {way}" in rows:
                ratio = rows[f"{game}, {way}"]["median"] / rows[f"{game}, uniform"]["median"]
                ratios[f"{way}_vs_uniform_{game}"] = round(ratio, 3)
    return {"rows": rows, "ratios": ratios}


def gen1(minutes: float) -> dict[str, Any]:
    """Train each way for the same time, then rate the results and let an exploiter train against each."""
    with tempfile.TemporaryDirectory(prefix="ludus-matchmaking-") as name:
        folder = Path(name)
        league = folder / "table"
        _ludus("league", "new", str(league), "--game", "showdown", "--format", "gen1randombattle")
        table: dict[str, Any] = {}
        for way in WAYS:
            run = _train(folder, way, minutes)
            _ludus("league", "add", str(league), str(run), "--name", way)
            contest.say(f"gen1, {way}: trained for {minutes:g} minutes")
        _ludus("league", "play", str(league), "--matches", "200")
        standings = json.loads(_ludus("league", "standings", str(league), "--json"))["standings"]
        for line in standings:
            table[line["name"]] = {key: line[key] for key in ("elo", "low", "high", "worst_opponent", "worst_share")}
        for way in WAYS:
            place = folder / f"exploit-{way}"
            words = ("--minutes", str(minutes), "--config", "gen1", "--points", "4", "--folder", str(place))
            _ludus("league", "exploit", way, "--league", str(league), *words)
            table[way]["exploiter"] = json.loads((place / "exploit.json").read_text())["points"][-1]
    return {"minutes": minutes, "table": table}


def _train(folder: Path, way: Way, minutes: float) -> Path:
    """Train one way and return the folder of its run."""
    fast = ("evaluation.every_updates=1000000", "evaluation.matches=2")
    if way != "league":
        sets = (*GEN1[way], *fast, f"budget.minutes={minutes}")
        _ludus("train", "gen1", "--run-dir", str(folder / way), *(word for each in sets for word in ("--set", each)))
        return folder / way
    # one run at a time, so that the wall-clock of main agent and exploiter together is that of the other ways
    settings = {
        "league": str(folder / "league"),
        "config": "gen1",
        "minutes": minutes / 2,
        "turn_minutes": minutes / 8,
        "matches": 1,
        "set": {"evaluation": {"every_updates": 1_000_000, "matches": 2}},
        "main": {"promote_minutes": minutes / 8},
        "league_exploiter": {"count": 0},
        "main_exploiter": {"promote_minutes": minutes / 8},
    }
    path = folder / "league.yaml"
    path.write_text(json.dumps(settings))  # JSON is YAML
    _ludus("league", "train", str(path))
    return folder / "league" / "runs" / "main-1-g1"


def _ludus(*words: str) -> str:
    result = subprocess.run([sys.executable, "-P", "-m", "ludus", *words], capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"ludus {' '.join(words)} ended with {result.returncode}:\n{result.stderr[-2000:]}")
    return result.stdout


def draw(curves: Mapping[str, Sequence[Sequence[Point]]], path: Path) -> None:
    """Plot NashConv over decisions: a panel per game, a colour per way, a line per seed."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    games = list(dict.fromkeys(name.partition(", ")[0] for name in curves))
    figure = Figure(figsize=(5.2 * len(games), 4.2), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    for index, game in enumerate(games):
        axes = figure.add_subplot(1, len(games), index + 1)
        for name, runs in curves.items():
            where, _, way = name.partition(", ")
            for number, curve in enumerate(runs if where == game else ()):
                x, y = [point.decisions / 1e6 for point in curve], [point.nash_conv for point in curve]
                axes.plot(x, y, color=COLOURS[way], linewidth=1.4, label=way if number == 0 else None)
        axes.set_title(f"{game.capitalize()} poker", loc="left", fontsize=12)
        axes.set_xlabel("million decisions, exploiters included")
        if index == 0:
            axes.set_ylabel("NashConv: 0 in an equilibrium")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)
        axes.grid(axis="y", color="#E6E6E6", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def _arguments() -> argparse.Namespace:
    draws = f"append to {RESULTS.name} and draw {PICTURE.name}"
    quick = "a few updates, or half a minute: only that it runs"
    parser = contest.Options((__doc__ or "").split("\n")[0], RESULTS, quick=quick, save=draws)
    parser.add_argument("--games", nargs="+", choices=(*POKER, "gen1"), default=list(POKER))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--updates", type=int, default=300, help="batches of a run in poker, over all its learners")
    parser.add_argument("--minutes", type=float, default=20.0, help="wall-clock of each way in gen1")
    return parser.arguments()


if __name__ == "__main__":
    main()
