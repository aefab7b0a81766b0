"""Compare uniform past selves, PFSP and a league with exploiters, by exact exploitability in poker or by Elo in gen 1.

    python benchmarks/bench_matchmaking.py [--quick] [--save] [--games kuhn leduc] [--seeds 1 2 3] [--jobs N]
    python benchmarks/bench_matchmaking.py --games gen1 --minutes 20
    python benchmarks/bench_matchmaking.py --draw

Poker: all three ways use the same number of decisions, those of the exploiters included. NashConv is exact: of the main
agent, of the mixture that draws each of its snapshots equally often, and of the mixture of all members that none of
them beats, as in policy-space response oracles. `rows` have the median and spread over the last fifth of each run and
all seeds, `curves` the whole course. gen1: `ludus train gen1` for the same wall-clock, all ways side by side, each on
cores of its own, then `ludus league play` among the results and `ludus league exploit` against each. The last line on
stdout is one JSON object; --save appends it to benchmarks/results/matchmaking.jsonl and draws matchmaking.png from the
poker curves; --draw does that from all stored runs together, and prints their rows.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import bench_equilibria, contest
from benchmarks.drivers.equilibria import preset
from benchmarks.drivers.matchmaking import Point, Way, learn

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "matchmaking.jsonl"
PICTURE = RESULTS.with_suffix(".png")
WAYS: tuple[Way, ...] = get_args(Way)
POKER = ("kuhn", "leduc")
COLOURS = {"uniform": "#D55E00", "pfsp": "#0072B2", "league": "#009E73"}
POINTS = 12
SIZES = {  # batches small enough that exploiters make several updates, too; and how many, over all learners
    "kuhn": (("learner.decisions=512", "learner.minibatch=256"), 300),
    "leduc": (("learner.decisions=2048", "learner.minibatch=1024"), 300),
}
MEASURES = ("nash_conv", "uniform_mixture", "nash_mixture")  # of `Point`
PAST = "opponents.past=0.35"  # with it, self-play has the share that it has for a league's main agent
GEN1: dict[Way, tuple[str, ...]] = {  # settings of `ludus train gen1`; the league has an agent of its own kind
    "uniform": ("opponents.choose=uniform", PAST),
    "pfsp": ("opponents.choose=pfsp", PAST),
    "league": (),
}

Answer = TypeVar("Answer")
Curves = dict[str, list[list[Point]]]  # "game, way" -> a curve for each seed


def main() -> None:
    arguments = _arguments()
    if arguments.draw:
        curves = stored(RESULTS.read_text().splitlines())
        draw(curves, PICTURE)
        for name, row in report(curves)["rows"].items():
            print(f"{name:32}{row['median']:>8.2f}   {row['low']:>8.2f} to {row['high']:.2f}")
        return
    result: dict[str, Any] = {"bench": "matchmaking", "commit": contest.commit(ROOT), "machine": contest.machine()}
    games = [game for game in POKER if game in arguments.games]
    curves = poker(games, arguments.seeds, 36 if arguments.quick else arguments.updates, arguments.jobs)
    if "gen1" in arguments.games:
        with tempfile.TemporaryDirectory(prefix="ludus-matchmaking-") as name:
            folder = arguments.folder or Path(name)
            minutes = 0.5 if arguments.quick else arguments.minutes
            result["gen1"] = gen1(folder, minutes, arguments.exploit_minutes, arguments.matches)
        contest.say(as_table(result["gen1"]["table"]))
    result |= {"unit": "NashConv", **report(curves), "curves": msgspec.to_builtins(curves)}
    if arguments.save:
        with RESULTS.open("a") as file:
            file.write(json.dumps(result) + "\n")
        if curves:
            draw(curves, PICTURE)
    print(json.dumps(result))


def poker(games: Sequence[str], seeds: Sequence[int], updates: int, jobs: int) -> Curves:
    """Train each way with each seed, `jobs` of them at a time, the longest ones first."""
    curves: Curves = {f"{game}, {way}": [] for game in games for way in WAYS}
    tasks = [(game, seed, way, updates) for game in reversed(games) for seed in seeds for way in WAYS]
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for (game, seed, way, _), curve in zip(tasks, pool.map(_learned, tasks), strict=True):
            curves[f"{game}, {way}"].append(curve)
            contest.say(f"{game}, {way}, seed {seed}: {curve[-1].nash_conv:.3f} in {curve[-1].cpu_s:.0f} s")
    return curves


def _learned(task: tuple[str, int, Way, int]) -> list[Point]:
    game, seed, way, updates = task
    size, usual = SIZES[game]
    sets = (*bench_equilibria.ALGORITHMS[game]["ppo"], f"seed={seed}", *size, f"budget.updates={updates or usual}")
    return list(learn(preset(game, *sets), way, points=POINTS))


def stored(lines: Sequence[str]) -> Curves:
    """Return the curves of all stored runs that measured mixtures. Those that did not had other budgets."""
    curves: Curves = {}
    for line in lines:
        try:
            saved = msgspec.convert(json.loads(line)["curves"], Curves)
        except msgspec.ValidationError:
            continue
        for name, runs in saved.items():
            curves.setdefault(name, []).extend(runs)
    return curves


def report(curves: Curves) -> dict[str, Any]:
    """Return rows and ratios: of the main agent, and of the two mixtures."""
    rows = {}
    for name, runs in curves.items():
        for measure in MEASURES:
            last = [getattr(point, measure) for curve in runs for point in curve[-max(1, len(curve) // 5) :]]
            course = [statistics.mean(getattr(point, measure) for point in curve) for curve in runs]
            label = name if measure == "nash_conv" else f"{name}, {measure}"
            mean = statistics.mean(course)
            rows[label] = contest.summary(last, mean_of_course=mean, decisions=runs[0][-1].decisions)
    ratios = {}
    for game in dict.fromkeys(name.partition(", ")[0] for name in curves):
        for way in (way for way in WAYS if f"{game}, {way}" in rows and f"{game}, uniform" in rows):
            for measure in MEASURES:
                label = f"{game}, {way}" if measure == "nash_conv" else f"{game}, {way}, {measure}"
                name = f"{way}_vs_uniform_{game}" if measure == "nash_conv" else f"{way}_{measure}_vs_uniform_{game}"
                if name != f"uniform_vs_uniform_{game}":
                    ratios[name] = round(rows[label]["median"] / rows[f"{game}, uniform"]["median"], 3)
    return {"rows": rows, "ratios": ratios}


def gen1(folder: Path, minutes: float, exploit_minutes: float, matches: int) -> dict[str, Any]:
    """Train each way for the same time, then rate the results and let an exploiter train against each. What belongs to
    one way runs beside that of the others, on an equal part of the cores."""
    parts = core_parts(len(WAYS))
    league = folder / "table"
    _ludus("league", "new", str(league), "--game", "showdown", "--format", "gen1randombattle")
    for way, run in zip(WAYS, _beside(parts, lambda way: _train(folder, way, minutes)), strict=True):
        _ludus("league", "add", str(league), str(run), "--name", way)
        contest.say(f"gen1, {way}: trained for {minutes:g} minutes")
    _ludus("league", "play", str(league), "--matches", str(matches))
    standings = json.loads(_ludus("league", "standings", str(league), "--json"))["standings"]
    columns = ("elo", "low", "high", "matches", "worst_opponent", "worst_share")
    table = {line["name"]: {key: line[key] for key in columns} for line in standings}
    contest.say(as_table(table))
    last_points = _beside(parts, lambda way: _exploit(folder, league, way, exploit_minutes))
    for way, point in zip(WAYS, last_points, strict=True):
        table[way]["exploiter"] = point
    return {
        "minutes": minutes,
        "exploit_minutes": exploit_minutes,
        "cores_of_each": min(map(len, parts)),
        "table": table,
    }


def core_parts(parts: int) -> list[set[int]]:
    """Return an equal part of this process's cores for each of `parts`; all of them if there are too few."""
    cores = sorted(os.sched_getaffinity(0))
    each = len(cores) // parts
    return [set(cores[part * each : (part + 1) * each]) if each else set(cores) for part in range(parts)]


def _beside(parts: Sequence[set[int]], work: Callable[[Way], Answer]) -> list[Answer]:
    """Do the work of all ways at the same time, each on its part of the cores."""

    def on_its_cores(way: Way, cores: set[int]) -> Answer:
        os.sched_setaffinity(0, cores)  # of this thread; the programs that it starts inherit it
        return work(way)

    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(on_its_cores, WAYS, parts))


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
        "turn_minutes": minutes / 4,
        "matches": 2,
        "set": {"evaluation": {"every_updates": 1_000_000, "matches": 2}},
        "main": {"promote_minutes": minutes / 8},
        "league_exploiter": {"count": 0},
        "main_exploiter": {"promote_minutes": minutes / 8},
    }
    path = folder / "league.yaml"
    path.write_text(json.dumps(settings))  # JSON is YAML
    _ludus("league", "train", str(path))
    return folder / "league" / "runs" / "main-1-g1"


def _exploit(folder: Path, league: Path, way: Way, minutes: float) -> dict[str, Any]:
    """Train an exploiter against the result of one way, and return the last point of its curve."""
    place = folder / f"exploit-{way}"
    words = ("--minutes", str(minutes), "--config", "gen1", "--points", "2", "--clone", "--folder", str(place))
    _ludus("league", "exploit", way, "--league", str(league), *words)
    point: dict[str, Any] = json.loads((place / "exploit.json").read_text())["points"][-1]
    return point


def as_table(table: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the result of gen1 as a Markdown table."""
    lines = ["| | Elo | 95% interval | worst opponent | exploiter wins |", "| --- | ---: | ---: | --- | ---: |"]
    for name, row in table.items():
        point = row.get("exploiter")
        exploiter = f"{point['win_rate']:.1%} ({point['low']:.1%} to {point['high']:.1%})" if point else ""
        interval = f"{row['low']:.0f} to {row['high']:.0f}"
        worst = f"{row['worst_opponent']} {row['worst_share']:.1%}"
        lines.append(f"| {name} | {row['elo']:.0f} | {interval} | {worst} | {exploiter} |")
    return "\n".join(lines)


def _ludus(*words: str) -> str:
    result = subprocess.run([sys.executable, "-P", "-m", "ludus", *words], capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"ludus {' '.join(words)} ended with {result.returncode}:\n{result.stderr[-2000:]}")
    return result.stdout


def draw(curves: Mapping[str, Sequence[Sequence[Point]]], path: Path) -> None:
    """Plot NashConv over decisions: a row per game, a panel per measure, a colour per way, a thin line
    per seed, and their median."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    titles = ("main agent", "mixture of its snapshots", "Nash mixture of all members")
    games = list(dict.fromkeys(name.partition(", ")[0] for name in curves))
    figure = Figure(figsize=(12.5, 3.6 * len(games)), dpi=90, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(games), len(MEASURES), sharey="row", squeeze=False)
    for row, game in zip(panels, games, strict=True):
        for axes, measure, title in zip(row, MEASURES, titles, strict=True):
            for name, runs in curves.items():
                where, _, way = name.partition(", ")
                if where != game:
                    continue
                x = [statistics.mean(point.decisions / 1e6 for point in points) for points in zip(*runs, strict=False)]
                values = [[getattr(point, measure) for point in points] for points in zip(*runs, strict=False)]
                axes.plot(x, values, color=COLOURS[way], linewidth=0.7, alpha=0.35)
                axes.plot(x, [statistics.median(each) for each in values], color=COLOURS[way], linewidth=2.2, label=way)
            axes.set_title(f"{game.capitalize()} poker: {title}", loc="left", fontsize=10)
            axes.set_xlabel("million decisions, exploiters included", fontsize=9)
            axes.set_ylim(bottom=0)
            axes.grid(axis="y", color="#E6E6E6", linewidth=0.8)
            axes.spines[["top", "right"]].set_visible(False)
        row[0].set_ylabel("NashConv: 0 in an equilibrium")
        row[0].legend(frameon=False)
    figure.savefig(path)


def _arguments() -> argparse.Namespace:
    draws = f"append to {RESULTS.name} and draw {PICTURE.name}"
    quick = "a few updates, or half a minute: only that it runs"
    parser = contest.Options((__doc__ or "").split("\n")[0], RESULTS, quick=quick, save=draws)
    parser.add_argument("--games", nargs="+", choices=(*POKER, "gen1"), default=list(POKER))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--draw", action="store_true", help=f"only draw {PICTURE.name} from the stored runs")
    parser.add_argument("--updates", type=int, default=0, help="batches of a run in poker, over all its learners")
    parser.add_argument("--jobs", type=int, default=1, help="runs in poker at the same time")
    parser.add_argument("--minutes", type=float, default=20.0, help="wall-clock of each way in gen1")
    parser.add_argument("--exploit-minutes", type=float, default=10.0, help="training of each exploiter in gen1")
    parser.add_argument("--matches", type=int, default=200, help="between each two members in gen1")
    parser.add_argument("--folder", type=Path, help="new folder that keeps the runs and leagues of gen1")
    return parser.arguments()


if __name__ == "__main__":
    main()
