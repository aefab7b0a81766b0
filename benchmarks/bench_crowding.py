"""Find out what keeps many hosts on one machine from being as many times faster than one.

    python benchmarks/bench_crowding.py [--quick] [--format gen9randomdoublesbattle] [--counts 1 14] [--save]

Every program runs alone and then in several copies, and is compared with linear growth: 1.0 means that the copies do
not disturb each other.

    hosts       hosts, fleet and the random policy, as in `ludus bench scale`
    engine      the hosts' own matches inside Node, without pipes and without Python (drivers/engine.js ceiling)
    pinned      the same, each process on a core of its own
    pages       the same, with Node's machine code on huge pages
    battle      the same, with one battle per process, which needs little memory
    young       the same, with a young generation of 1 MiB, which fits into a core's own cache
    interpreted the same, without compiled code
    chain       plain Node programs that share nothing (drivers/crowd.js): the clock speed,
    units       the arithmetic units that two threads of a physical core share,
    cache       the latency of the shared cache or of memory,
    memory      the bandwidth of memory,
    code        the fetching of machine code,
    allocate    the allocation of objects that die young

If `engine` grows as `hosts` do, the actor and the kernel are not to blame. If `pinned` grows as `engine` does, neither
is the scheduler. The warm-up is reported in four parts: V8 compiles for 10 to 20 seconds, in threads that compete with
the hosts if all cores play, so a shorter one measures the compiler. `pairs` runs `units` on the first core and on one
other core at a time: a pair that is much slower than one program alone is two threads of one physical core, even where
the machine shows one thread per core. Repeat a run with transparent huge pages on and off: V8's heap gains from them.
The last line on stdout is one JSON object; --save appends it to benchmarks/results/crowding.jsonl.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest
from benchmarks.contest import Contestant

import ludus.games.showdown as showdown
from ludus.games.showdown import install
from ludus.games.showdown.game import NODE_FLAGS
from ludus.processes.cores import cores

ROOT = Path(__file__).parents[1]
DRIVERS = ROOT / "benchmarks" / "drivers"
RESULTS = ROOT / "benchmarks" / "results" / "crowding.jsonl"
HOST = Path(showdown.__file__).parent / "host"
PLAIN = ("chain", "units", "cache", "memory", "code", "allocate")
PROGRAMS = ("hosts", "engine", "pinned", "pages", "battle", "young", "interpreted", *PLAIN)
COUNTS = (1, 2, 4, 8)  # and two fewer than there are cores
PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
PAIR_S = 0.25
SAME_CORE = 0.75  # a pair below this share of two programs alone has one physical core
HUGE_PAGES = "--use-largepages=silent"
SMALL_YOUNG = "--max-semi-space-size=1"
INTERPRETED = ("--no-sparkplug", "--no-maglev", "--no-opt")
WARM_UP_PARTS = 4  # each is reported, because compiling takes many seconds

Command = list[str]


def main() -> None:
    arguments = _arguments()
    counts = sorted(set(arguments.counts))
    ends = sorted({counts[0], counts[-1]})
    installation = install.ensure()
    node = str(installation.node)
    options = ["--sim", str(installation.root), "--host", str(HOST), "--format", arguments.format]

    def engine(*flags: str, matches: int = arguments.matches) -> Command:
        more = ["ceiling", *options, "--matches", str(matches)]
        return [node, *NODE_FLAGS, *flags, str(DRIVERS / "engine.js"), *more]

    def plain(kind: str) -> Command:
        return [node, str(DRIVERS / "crowd.js"), kind]

    programs: dict[str, tuple[list[int], Callable[[int], list[Command]]]] = {
        "hosts": (counts, lambda n: [_hosts(arguments, n)]),
        "engine": (counts, lambda n: [engine()] * n),
        "pinned": (ends, lambda n: _pinned(engine(), n)),
        "pages": (ends, lambda n: [engine(HUGE_PAGES)] * n),
        "battle": (ends, lambda n: [engine(matches=1)] * n),
        "young": (ends, lambda n: [engine(SMALL_YOUNG)] * n),
        "interpreted": (ends, lambda n: [engine(*INTERPRETED)] * n),
        **{kind: (counts, partial(_copies, plain(kind))) for kind in PLAIN},
    }
    rows: dict[str, dict[str, float]] = {}
    ratios: dict[str, dict[str, float]] = {}
    for name in arguments.only:
        if name == "pinned" and not shutil.which("taskset"):
            contest.say("there is no taskset: nothing is pinned")
            continue
        sizes, commands = programs[name]
        rates = {n: _measured(arguments, f"{name}, {n}", commands(n), rows) for n in sizes}
        per_copy = {n: [rate / n for rate in rates[n]] for n in sizes}
        for n in sizes[1:]:
            ratios[f"{name}_{n}_of_linear"] = contest.ratio(per_copy[n], per_copy[sizes[0]])
    pairs = _pairs(plain("units")) if "units" in arguments.only and shutil.which("taskset") else {}
    contest.show(rows, ratios)
    for other, share in pairs.items():
        contest.say(f"first core with core {other}: {share:.2f} of two cores alone{_verdict(share)}")
    facts = {"warm_up_s": arguments.warm_up, "huge_pages": _huge_pages(), "format": arguments.format}
    result = contest.result("crowding", ROOT, arguments, **facts, pairs=pairs, unit="decisions/s or rounds/s")
    contest.report(result, rows, ratios, RESULTS if arguments.save else None)


def _arguments() -> argparse.Namespace:
    parser = contest.Options(__doc__, RESULTS, quick="coarser, in a few minutes")
    parser.add_argument("--format", default="gen9randomdoublesbattle")
    parser.add_argument("--matches", type=int, default=16, help="battles per host")
    usual = [*(count for count in COUNTS if count < cores() - 2), max(2, cores() - 2)]
    parser.add_argument("--counts", type=int, nargs="+", default=usual, help="numbers of copies")
    parser.add_argument("--only", nargs="*", default=PROGRAMS, choices=PROGRAMS, help="programs to measure")
    parser.size("--repeats", 3, 1, "measurements of each number of copies")
    parser.size("--seconds", 1.0, 0.5, "seconds of each measurement")
    parser.size("--warm-up", 20.0, 1.0, "seconds before the first measurement of an engine")
    return parser.arguments()


def _hosts(arguments: argparse.Namespace, hosts: int) -> Command:
    driver = [sys.executable, str(DRIVERS / "fleet.py"), "random"]
    return [*driver, arguments.format, str(hosts), str(arguments.matches)]


def _pinned(command: Command, count: int) -> list[Command]:
    own = sorted(os.sched_getaffinity(0))
    return [["taskset", "-c", str(own[i % len(own)]), *command] for i in range(count)]


def _huge_pages() -> str:
    """Return the system's setting for transparent huge pages: always, madvise, never or unknown."""
    try:
        return PAGES.read_text().partition("[")[2].partition("]")[0]
    except OSError:
        return "unknown"


def _copies(command: Command, count: int) -> list[Command]:
    return [command] * count


def _measured(
    arguments: argparse.Namespace, name: str, commands: Sequence[Command], rows: dict[str, dict[str, float]]
) -> list[float]:
    """Add a row: what all copies do per second together, and how many cores they keep busy. Returns the rates."""
    contestant = Contestant(name, commands)
    with ExitStack() as running:
        contest.start([contestant], running)
        warm_up_s = 2.0 if name.partition(",")[0] in PLAIN else arguments.warm_up
        for _ in range(WARM_UP_PARTS):
            rate = contestant.measure(warm_up_s / WARM_UP_PARTS)
            contest.say(f"warming up {name}: {rate:,.0f} per second, {contestant.cores.pop():.1f} cores busy")
        rates = [contestant.measure(arguments.seconds) for _ in range(arguments.repeats)]
    rows[name] = contest.summary(rates, cores=statistics.median(contestant.cores))
    contest.say(f"{name}: {statistics.median(rates):,.0f} per second, {rows[name]['cores']:.1f} cores busy")
    return rates


def _pairs(command: Command) -> dict[int, float]:
    """Return, by core, the share of two programs alone that one on the first core and one on that core reach."""
    first, *others = sorted(os.sched_getaffinity(0))
    shares: dict[int, float] = {}
    with ExitStack() as running:
        by_core: dict[int, Contestant] = {}
        for core in (first, *others):
            by_core[core] = Contestant(f"core {core}", [["taskset", "-c", str(core), *command]])
        contest.start(by_core.values(), running)
        alone = statistics.median(by_core[first].measure(PAIR_S) for _ in range(3))
        for core in others:
            both = _together(by_core[first], by_core[core])
            shares[core] = both / (2 * alone)
    return shares


def _together(*contestants: Contestant) -> float:
    """Return what several contestants do per second at the same time."""
    with ThreadPoolExecutor(len(contestants)) as threads:
        return float(sum(threads.map(lambda contestant: contestant.measure(PAIR_S), contestants)))


def _verdict(share: float) -> str:
    return ": threads of one physical core" if share < SAME_CORE else ""


if __name__ == "__main__":
    main()
