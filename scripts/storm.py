"""Inject faults into real training runs: python scripts/storm.py --minutes 60 --seed 1 [--save]

Kills, stops and corrupts hosts, actors, servers and learners, fills the disk, and damages files; the seed decides what
and when. At the end every match must be accounted for, and no process or file may be left behind. --save writes
benchmarks/results/storm.md and appends to storm.jsonl. The last line on stdout is one JSON object; the exit status is 1
if something went wrong. Linux only; filling a disk needs the right to mount a tmpfs.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
sys.path.insert(0, str(ROOT))

from tests.storm import outcome, plan, scenarios  # noqa: E402  found by the line above
from tests.storm.storm import storm  # noqa: E402

from ludus.processes.cores import cores  # noqa: E402
from ludus.run import provenance  # noqa: E402


def main() -> int:
    arguments = _arguments()
    selection = [scenarios.SCENARIOS[name] for name in arguments.scenario or scenarios.DEFAULT]
    shares = sum(scenario.share for scenario in selection)
    start = provenance.here(cores())
    folder = Path(arguments.folder or tempfile.mkdtemp(prefix="ludus-storm-"))
    print(f"logs are kept in {folder}", flush=True)
    results = [
        storm(
            scenario,
            folder / scenario.name,
            seed=arguments.seed,
            seconds=arguments.minutes * 60 * scenario.share / shares,
            only=arguments.only,
            without=arguments.without,
            every_s=arguments.every,
            tell=lambda line: print(line, flush=True),
        )
        for scenario in selection
    ]
    machine = {"cores": start.cores, "system": start.system}
    command = shlex.join(["python", "scripts/storm.py", *sys.argv[1:]])
    line = {"storm": command, "commit": start.commit, "machine": machine, **outcome.summary(results)}
    page = outcome.page(line, command, start.commit)
    print(page)
    if arguments.save:
        name = "-".join(["storm", *(arguments.scenario or [])])
        (RESULTS / f"{name}.md").write_text(page, encoding="utf-8")
        with (RESULTS / "storm.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    for problem in line["problems"]:
        print(problem, file=sys.stderr)
    print(json.dumps(line))
    return 1 if line["problems"] else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="duration of all scenarios together (default: 60)")
    parser.add_argument("--seed", type=int, default=1)
    kinds, names = ", ".join(plan.KINDS), ", ".join(scenarios.SCENARIOS)
    parser.add_argument("--every", type=float, metavar="S", help="seconds between a recovery and the next fault")
    parser.add_argument(
        "--scenario",
        action="append",
        choices=list(scenarios.SCENARIOS),
        help=f"one of {names}; the last two only if named",
    )
    parser.add_argument("--only", action="append", default=[], metavar="FAULT", help=f"one of {kinds}")
    parser.add_argument("--without", action="append", default=[], metavar="FAULT", help="a fault to leave out")
    parser.add_argument("--folder", help="folder for logs; default: a temporary one")
    parser.add_argument("--save", action="store_true", help="store the result in benchmarks/results")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
