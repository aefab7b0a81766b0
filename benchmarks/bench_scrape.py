"""Measure one scrape of a run with 16 hosts by Prometheus.

    python benchmarks/bench_scrape.py [--quick] [--save]

Scraped is a report with every metric, 16 hosts, 16 opponents and the histograms of all activities, over HTTP on this
machine. `cpu` is the CPU time of server and client, `wall` the time until the answer is there. The last line on
stdout is one JSON object; --save appends it to benchmarks/results/scrape.jsonl.
"""

from __future__ import annotations

import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest

from ludus.config.settings import PrometheusConfig
from ludus.metrics import names
from ludus.metrics.exporters.prometheus import PrometheusExporter
from ludus.metrics.times import MATCH_TIME, Times
from ludus.wire.durations import Durations

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "scrape.jsonl"
HOSTS = OPPONENTS = 16
LIMIT_MS = 5.0
# as Prometheus 3 asks
ACCEPT = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


def main() -> None:
    options = contest.Options(__doc__, RESULTS)
    options.size("--repeats", 7, 3, "medians of scrapes")
    options.size("--scrapes", 200, 30, "scrapes per median")
    arguments = options.arguments()
    wall: list[float] = []
    cpu: list[float] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        PrometheusExporter(PrometheusConfig(port=0), Path(folder)) as exporter,
    ):
        exporter.on_times(times())
        exporter.on_progress(report())
        for _ in range(arguments.repeats):
            figures = [scrape(exporter) for _ in range(arguments.scrapes)]
            wall.append(sorted(each[0] for each in figures)[len(figures) // 2])
            cpu.append(sorted(each[1] for each in figures)[len(figures) // 2])
            size = figures[0][2]
    rows = {"wall_ms": contest.summary(wall), "cpu_ms": contest.summary(cpu)}
    ratios = {"cpu over limit": contest.ratio(cpu, [LIMIT_MS] * len(cpu))}
    contest.show(rows, ratios)
    facts = {
        "bench": "scrape",
        "commit": contest.commit(ROOT),
        "machine": contest.machine(),
        "repeats": arguments.repeats,
        "scrapes": arguments.scrapes,
        "hosts": HOSTS,
        "bytes": size,
    }
    contest.report(facts, rows, ratios, RESULTS if arguments.save else None)


def report() -> dict[str, float | str]:
    numbers: dict[str, float | str] = {each.name: "text" if each.unit == "text" else 1.5 for each in names.METRICS}
    for index in range(OPPONENTS):
        numbers |= {family(f"opponent-{index}"): 0.5 for family in (names.WIN_RATE, names.TRAIN_WIN_RATE, names.FACT)}
    for index in range(HOSTS):
        numbers[names.HOST_BUSY(str(index))] = 0.5
    return numbers | {names.SHARE(each.name): 0.1 for each in names.ACTIVITIES}


def times() -> Times:
    durations = Durations.of([1 << bits for bits in range(8, 38)])
    return Times({}, dict.fromkeys((MATCH_TIME, *(each.name for each in names.ACTIVITIES)), durations))


def scrape(exporter: PrometheusExporter) -> tuple[float, float, int]:
    """Return wall-clock and CPU milliseconds of this process (server and client), and the bytes of the answer."""
    began_s, cpu_s = time.perf_counter(), time.process_time()
    request = urllib.request.Request(
        f"http://127.0.0.1:{exporter.port}/metrics",
        headers={"Accept-Encoding": "gzip", "Accept": ACCEPT},
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        body = response.read()
    return 1000 * (time.perf_counter() - began_s), 1000 * (time.process_time() - cpu_s), len(body)


if __name__ == "__main__":
    main()
