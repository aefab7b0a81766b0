"""Measure what `ludus watch` costs: the time to open a long run, its memory, and the CPU time of watching.

    python benchmarks/bench_watch.py [--quick] [--rows 1000000] [--save]

The server only reads files, so its CPU time is all that a run can lose by being watched. It is measured while a row is
added every second and a client asks for what the open page asks for, as often as the page does. Opening is everything
that the page waits for: the list of runs, the run, and all columns. The last line on stdout is one JSON object; --save
appends it to benchmarks/results/watch.jsonl.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest

from ludus.metrics import names
from ludus.processes.command import ISOLATED
from ludus.processes.launch import tied

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "watch.jsonl"
COLUMNS = 110  # of a run of Pokemon Showdown
BLOCK_ROWS = 1000  # rows that are written again and again, with another time
RUN_EVERY_S, CHARTS_EVERY_S = 2.0, 5.0  # as often as page/main.js and page/run.js ask
COLUMNS_PER_QUESTION = 60  # as in page/run.js
OPEN_LIMIT_S, MEMORY_LIMIT_MIB, COST_LIMIT = 1.0, 60.0, 0.005  # what is asked


def main() -> None:
    options = contest.Options(__doc__, RESULTS)
    options.size("--rows", 1_000_000, 50_000, "rows of the progress.csv")
    options.size("--seconds", 60.0, 10.0, "seconds of watching")
    options.size("--repeats", 5, 2, "servers that are started, opened and watched")
    arguments = options.arguments()
    opened: list[float] = []
    memory: list[float] = []
    shares: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        contest.say(f"writing {arguments.rows:,} rows")
        columns = write_run(run, arguments.rows)
        for repeat in range(arguments.repeats):
            with served(run) as page:
                opened.append(page.open(columns))
                shares.append(watch(page, run, columns, arguments.rows, arguments.seconds))
                memory.append(page.memory_mib())
            contest.say(f"repeat {repeat + 1}: opened in {opened[-1]:.2f} s, {shares[-1]:.2%} of a core")
        size_mib = (run / "progress.csv").stat().st_size / 2**20
    rows = {
        "open_ms": contest.summary([1000 * each for each in opened]),
        "memory_mib": contest.summary(memory),
        "core_percent": contest.summary([100 * each for each in shares]),
    }
    cores = psutil.cpu_count() or 1
    ratios = {
        "open over limit": contest.ratio(opened, [OPEN_LIMIT_S] * len(opened)),
        "memory over limit": contest.ratio(memory, [MEMORY_LIMIT_MIB] * len(memory)),
        "machine over limit": contest.ratio([share / cores for share in shares], [COST_LIMIT] * len(shares)),
    }
    contest.show(rows, ratios)
    facts = contest.result("watch", ROOT, arguments, rows_of_run=arguments.rows, mib_of_run=round(size_mib))
    contest.report(facts, rows, ratios, RESULTS if arguments.save else None)


def write_run(run: Path, rows: int) -> list[str]:
    """Write a run with a long progress.csv. Returns its columns."""
    run.mkdir()
    (run / "config.yaml").write_text("game: toy\n")
    facts = (f"fact/number_{index}" for index in range(COLUMNS))
    columns = [names.TRAINING_S, *dict.fromkeys([metric.name for metric in names.METRICS if metric.unit != "text"])]
    columns = list(dict.fromkeys([*columns, *facts]))[:COLUMNS]
    with (run / "progress.csv").open("w") as file:
        file.write(",".join(columns) + "\n")
        for begin in range(0, rows, BLOCK_ROWS):
            file.writelines(row(second) for second in range(begin, min(rows, begin + BLOCK_ROWS)))
    return columns


def row(second: int) -> str:
    return f"{second}.0," + CELLS[second % len(CELLS)]


CELLS = [
    ",".join(f"{(index * 7919 + turn * 104729) % 1000003 / 997:.13g}" for index in range(COLUMNS - 1)) + "\n"
    for turn in range(50)
]


class Page:
    """Asks a server what the page asks."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        port, self._token = address.removeprefix("http://127.0.0.1:").strip("/").split("/")
        self._process = psutil.Process(process.pid)
        self._connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)

    def open(self, columns: list[str]) -> float:
        """Return the seconds until everything that the page shows first has arrived."""
        began_s = time.perf_counter()
        self.ask("runs")
        self.ask("metrics")
        self.ask("run?run=run")
        self.charts(columns)
        return time.perf_counter() - began_s

    def charts(self, columns: list[str]) -> None:
        for at in range(0, len(columns), COLUMNS_PER_QUESTION):
            self.ask(f"series?run=run&names={','.join(columns[at : at + COLUMNS_PER_QUESTION])}")

    def ask(self, question: str) -> Any:  # Any: JSON
        self._connection.request("GET", f"/{self._token}/api/{question}")
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        if response.status != http.HTTPStatus.OK:
            raise SystemExit(f"{question}: {answer}")
        return answer

    def memory_mib(self) -> float:
        return float(self._process.memory_info().rss / 2**20)

    def cpu_s(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def served(run: Path) -> Iterator[Page]:
    command = tied((*ISOLATED, "ludus.watch", str(run), "0"))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield Page(process, process.stdout.readline().strip())
        finally:
            process.terminate()
            process.wait(10.0)


def watch(page: Page, run: Path, columns: list[str], rows: int, seconds: float) -> float:
    """Watch a run that grows by a row per second. Returns the share of a core that the server used.

    The server first reads the file to its end, which a long one takes a while; that is once per run, not counted here.
    """
    while not page.ask(f"series?run=run&names={columns[0]}")["exact"]:
        pass
    began_s, before_s = time.perf_counter(), page.cpu_s()
    due_s, charts_due_s = RUN_EVERY_S, CHARTS_EVERY_S
    second = rows
    with (run / "progress.csv").open("a", buffering=1) as file:
        while (now_s := time.perf_counter() - began_s) < seconds:
            if now_s >= second - rows:
                file.write(row(second))
                second += 1
            if now_s >= due_s:
                page.ask("run?run=run")
                due_s += RUN_EVERY_S
            if now_s >= charts_due_s:
                page.charts(columns)
                charts_due_s += CHARTS_EVERY_S
            time.sleep(0.05)
    return (page.cpu_s() - before_s) / (time.perf_counter() - began_s)


if __name__ == "__main__":
    main()
