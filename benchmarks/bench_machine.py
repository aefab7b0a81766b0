"""Measure how much of a machine a training run uses, with one actor and with several, and how long an update takes.

    python benchmarks/bench_machine.py [--quick] [--format gen9randombattle] [--actors 1,2,4]
        [--set KEY=VALUE] [--also KEY=VALUE,KEY=VALUE] [--limit MINUTES] [--save]

All programs run interleaved on the same number of hosts. Reported are decisions per second, and the CPU shares of the
processes, as means over all processes of a kind:

    random    hosts, one fleet and the random policy: what the hosts can do in one process
    train-N   a whole training run with N actors
    KEY=...   a whole training run with these settings (--also)
    update    milliseconds of one update of 4,096 decisions and 2 epochs: the pointer net of width 128, in bf16 and
              captured graphs on a GPU; of singles or doubles, whichever the format plays

`train_vs_random` is the ratio of the fastest run. A program that fails is left out, and named in the result. No repeat
begins that would pass the limit. The last line on stdout is one JSON object; --save appends it to
benchmarks/results/machine.jsonl.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from benchmarks import contest
from benchmarks.contest import Contestant
from benchmarks.drivers.updates import TASKS, ours

from ludus.config.settings import ComputeConfig, FleetConfig
from ludus.learner.devices import choose, multiplies_bf16

ROOT = Path(__file__).parents[1]
DRIVERS = ROOT / "benchmarks" / "drivers"
RESULTS = ROOT / "benchmarks" / "results" / "machine.jsonl"
BUSY = ("learner_busy", "actors_busy", "hosts_busy")  # that the driver of a training run adds to its answers
WARM_UPS = 3  # updates before the first that counts
START_S = 240.0  # many hosts start slowly on a cold disk


def main() -> None:
    arguments = _arguments()
    until_s = time.monotonic() + 60 * arguments.limit
    updates = _updates(arguments)
    everyone = _contestants(arguments)
    with ExitStack() as running:
        contestants, failures = _started(everyone, running)
        failures |= _measured(contestants, arguments, until_s)
    repeats = min(len(each.samples) for each in contestants)
    for each in contestants:
        each.samples = each.samples[:repeats]
    rows = {each.name: _row(each) for each in contestants}
    ratios = _ratios(contestants)
    rows |= {"update": contest.summary(updates)} if updates else {}
    contest.show(rows, ratios)
    _explain(rows, failures)
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    arguments.repeats = repeats
    facts = contest.result(
        "machine",
        ROOT,
        arguments,
        gpu=gpu,
        torch=torch.__version__,
        format=arguments.format,
        hosts=arguments.hosts,
        matches=arguments.matches,
        settings=arguments.set,
        failures=failures,
    )
    facts["commit"] = arguments.commit or facts["commit"]
    contest.report(facts, rows, ratios, RESULTS if arguments.save else None)


def _arguments() -> argparse.Namespace:
    cores = int(contest.machine()["cores"])
    parser = contest.Options(__doc__, RESULTS)
    parser.add_argument("--format", default="gen9randombattle", help="a random-battle format (%(default)s)")
    parser.add_argument("--actors", default="1,2", help="numbers of actors, separated by commas (%(default)s)")
    parser.add_argument("--hosts", type=int, default=max(cores, 2), help="number of hosts (%(default)s)")
    parser.add_argument("--matches", type=int, default=FleetConfig().matches, help="matches per host (%(default)s)")
    parser.add_argument("--set", action="append", default=[], help="a setting of the runs, as in `ludus train --set`")
    parser.add_argument("--also", action="append", default=[], help="settings, separated by commas, of one more run")
    parser.add_argument("--commit", help="commit that is measured, if git is not available")
    parser.trials(repeats=(5, 2), seconds=(10.0, 3.0), warm_up=(20.0, 3.0))
    parser.size("--updates", 15, 2, "updates that are timed")
    parser.size("--limit", 30.0, 5.0, "minutes after which no further repeat begins")
    return parser.arguments()


def _contestants(arguments: argparse.Namespace) -> list[Contestant]:
    size = (arguments.format, str(arguments.hosts), str(arguments.matches))

    def run(name: str, sets: Sequence[str]) -> Contestant:
        command = [sys.executable, str(DRIVERS / "train.py"), *size, *arguments.set, *sets]
        return Contestant(name, [command], pausing=False, steady=False, start_s=START_S)

    random = Contestant("random", [[sys.executable, str(DRIVERS / "fleet.py"), "random", *size]], start_s=START_S)
    counted = [run(f"train-{count}", [f"actors.count={count}"]) for count in arguments.actors.split(",")]
    return [random, *counted, *(run(sets, sets.split(",")) for sets in arguments.also)]


def _started(contestants: Sequence[Contestant], running: ExitStack) -> tuple[list[Contestant], dict[str, str]]:
    """Start one program after the other. Returns those that are ready, and the errors of the others by name.

    Raises RuntimeError if the ceiling or all training runs cannot be started.
    """
    ready, failures = [], dict[str, str]()
    for contestant in contestants:
        begin_s = time.perf_counter()
        running.enter_context(contestant)
        try:
            contestant.wait_until_ready()
        except RuntimeError as error:
            failures[contestant.name] = str(error)
            contest.say(f"left out: {error}")
        else:
            contest.say(f"{contestant.name} is ready after {time.perf_counter() - begin_s:.0f} s")
            ready.append(contestant)
    if contestants[0].name in failures or len(ready) < 2:
        raise RuntimeError(f"nothing to measure: {failures}")
    return ready, failures


def _measured(contestants: list[Contestant], arguments: argparse.Namespace, until_s: float) -> dict[str, str]:
    """Measure all, and remove one that fails. Returns the errors by name."""
    failures = dict[str, str]()
    for repeat in range(arguments.repeats + 1):
        begin_s = time.monotonic()
        for contestant in list(contestants):
            try:
                speed = contestant.measure(arguments.seconds if repeat else arguments.warm_up)
            except RuntimeError as error:
                if contestant.name == "random" or len(contestants) == 2:
                    raise
                failures[contestant.name] = str(error)
                contestants.remove(contestant)
                contest.say(f"left out: {error}")
                continue
            if repeat:
                contestant.samples.append(speed)
            else:
                contestant.cores.clear()
                contestant.answers.clear()
            contest.say(f"{f'repeat {repeat}' if repeat else 'warm-up'} {contestant.name}: {speed:,.0f} decisions/s")
        if repeat and time.monotonic() + (time.monotonic() - begin_s) > until_s:
            contest.say("the time is used up")
            break
    return failures


def _updates(arguments: argparse.Namespace) -> list[float]:
    """Return the milliseconds of updates of the pointer net of width 128 on the learner's device."""
    device = choose("auto").device
    task = TASKS["doubles 128" if "doubles" in arguments.format else "pointer 128"]
    bf16 = device.type == "cuda" or multiplies_bf16(device)
    update = ours(task, ComputeConfig(precision="bf16" if bf16 else "fp32"), device)
    took_ms = []
    for _ in range((WARM_UPS if device.type == "cuda" else 1) + arguments.updates):
        begin_s = time.perf_counter()
        update()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        took_ms.append(1e3 * (time.perf_counter() - begin_s))
    return took_ms[-arguments.updates :] if arguments.updates else []


def _ratios(contestants: Sequence[Contestant]) -> dict[str, dict[str, float]]:
    random, first, *others = contestants
    ratios = {f"{each.name}_vs_random": contest.ratio(each.samples, random.samples) for each in (first, *others)}
    fastest = max((first, *others), key=lambda each: statistics.median(each.samples))
    ratios["train_vs_random"] = contest.ratio(fastest.samples, random.samples)
    return ratios | {f"{each.name}_vs_{first.name}": contest.ratio(each.samples, first.samples) for each in others}


def _row(contestant: Contestant) -> dict[str, float]:
    more = {
        fact: round(statistics.median(answer[fact] for answer in contestant.answers), 3)
        for fact in (*BUSY, "update_ms")
        if fact in contestant.last
    }
    return {**contest.summary(contestant.samples), "cores": round(statistics.median(contestant.cores), 2), **more}


def _explain(rows: dict[str, dict[str, float]], failures: dict[str, str]) -> None:
    for name, row in rows.items():
        if "hosts_busy" in row:
            busy = ", ".join(f"{kind} {row[kind]:.0%}" for kind in BUSY)
            contest.say(f"{name}: {busy}, update {row['update_ms']:.0f} ms")
    for name, error in failures.items():
        contest.say(f"{name} failed: {error}")


if __name__ == "__main__":
    main()
