"""What Prometheus sees of a run: names, a real scrape, and the queries of dashboard and alerts."""

from __future__ import annotations

import json
import re
import socket
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from scripts import metrics_page, monitoring

import ludus
from ludus.config.settings import PrometheusConfig
from ludus.metrics import names, series_names
from ludus.metrics.exporters.prometheus import PrometheusExporter
from ludus.metrics.observer import Numbers, Result
from ludus.metrics.times import MATCH_TIME, Times
from ludus.wire.durations import Durations

SMALL = {
    "game": "toy",
    "options": {"game": "nim"},
    "mode": "serial",
    "device": "cpu",
    "fleet": {"hosts": 1, "matches": 8},
    "policy": {"width": 16},
    "learner": {"decisions": 256, "minibatch": 128},
    "evaluation": {"matches": 4, "quick_matches": 4},
    "metrics": {"prometheus": {"port": 0}},
}
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/metrics")


def whole_report() -> dict[str, float | str]:
    """Return a report with a value for every metric and every family."""
    report: dict[str, float | str] = {each.name: "text" if each.unit == "text" else 1.0 for each in names.METRICS}
    return report | {family(family.example): 0.5 for family in names.FAMILIES}


def times() -> Times:
    durations = Durations.of([500, 2_000_000, 3_000_000_000])
    return Times({"actor": 4e9}, {"actor/load_weights": durations, MATCH_TIME: durations})


def scraped(exporter: PrometheusExporter) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{exporter.port}/metrics", timeout=10) as response:
        text: str = response.read().decode()
        return text


def values(text: str) -> dict[tuple[str, tuple[str, ...]], float]:
    """Return the value of each sample by its name and the values of its labels, in the order of the labels' names."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(each.name, tuple(value for _, value in sorted(each.labels.items()))): each.value for each in samples}


def test_every_number_has_a_name_a_meaning_and_a_unit() -> None:
    sources = {each.source for each in series_names.ALL}
    assert {metric.name for metric in names.METRICS} <= sources
    durations = {names.MEAN_MS.prefix, names.P50_MS.prefix, names.P95_MS.prefix}  # the histogram has them
    assert {family.prefix for family in names.FAMILIES} - durations <= sources
    for each in series_names.ALL:
        assert re.fullmatch(r"ludus_[a-z0-9_]+", each.name), each
        assert each.help, each
        assert each.name.endswith("_total") == (each.type == "counter"), each
    all_names = [each.name for each in series_names.ALL]
    assert len(set(all_names)) == len(all_names)


def test_units_are_base_units() -> None:
    assert series_names.METRICS[names.TRAINING_S].name == "ludus_progress_training_seconds"
    memory = series_names.METRICS[names.SERVERS_MIB]
    assert (memory.name, memory.factor) == ("ludus_servers_memory_bytes", 2**20)
    assert series_names.METRICS[names.MATCHES].name == "ludus_progress_matches_total"


def test_a_scrape_has_every_number_with_its_meaning(tmp_path: Path) -> None:
    with PrometheusExporter(PrometheusConfig(port=0), tmp_path) as exporter:
        exporter.on_times(times())
        exporter.on_progress(whole_report())
        text = scraped(exporter)
    found = values(text)
    assert found["ludus_progress_matches_total", ()] == 1.0
    assert found["ludus_servers_memory_bytes", ()] == 2.0**20
    assert found["ludus_win_rate_ratio", ("heuristic",)] == 0.5
    assert found["ludus_share_ratio", ("policies", "actor")] == 0.5
    assert found["ludus_progress_phase_info", ("text",)] == 1.0
    assert found["ludus_disk_free_bytes", ()] > 0
    helps = {family.name: family.documentation for family in text_string_to_metric_families(text)}
    for each in series_names.ALL:
        assert helps[each.name.removesuffix("_total")] == each.help


def test_durations_become_histograms_that_only_grow(tmp_path: Path) -> None:
    with PrometheusExporter(PrometheusConfig(port=0), tmp_path) as exporter:
        exporter.on_times(times())
        found = values(scraped(exporter))
    buckets = [value for (name, _), value in found.items() if name == "ludus_match_seconds_bucket"]
    assert buckets == sorted(buckets)
    assert (buckets[0], buckets[-1]) == (1.0, 3.0)
    assert found["ludus_match_seconds_count", ()] == 3.0
    assert found["ludus_match_seconds_sum", ()] == pytest.approx(3.0020005)
    below_5_ms = 2**22 / 1e9
    assert found["ludus_activity_seconds_bucket", ("load_weights", repr(below_5_ms), "actor")] == 2.0


def test_every_metric_of_dashboard_and_alerts_exists_in_a_scrape(tmp_path: Path) -> None:
    with PrometheusExporter(PrometheusConfig(port=0), tmp_path) as exporter:
        exporter.on_times(times())
        exporter.on_progress(whole_report())
        found = {name for name, _ in values(scraped(exporter))}
    queried = monitoring.queried()
    assert len(queried) > 30
    assert queried - found == set()


def test_dashboard_and_alerts_are_those_that_the_script_writes() -> None:
    for path, text in monitoring.texts().items():
        assert path.read_text() == text, f"run: python scripts/monitoring.py ({path.name})"
    ids = [panel["id"] for panel in json.loads(monitoring.DASHBOARD.read_text())["panels"]]
    assert ids == list(range(1, len(ids) + 1))


def test_the_page_lists_the_names_of_prometheus() -> None:
    assert all(f"`{each.name}`" in metrics_page.page() for each in series_names.ALL)


def test_labels_are_bounded_and_those_left_out_are_counted(tmp_path: Path) -> None:
    numbers: dict[str, float | str] = {names.WIN_RATE(f"opponent-{index}" + "x" * 500): 0.5 for index in range(100)}
    with PrometheusExporter(PrometheusConfig(port=0), tmp_path) as exporter:
        exporter.on_progress(numbers)
        found = values(scraped(exporter))
    rates = [labels for name, labels in found if name == "ludus_win_rate_ratio"]
    assert len(rates) == series_names.MOST_VALUES
    assert max(len(label) for (label,) in rates) == series_names.LONGEST_LABEL
    assert found[series_names.OMITTED, ()] == 36


def test_a_port_in_use_costs_a_warning_and_not_the_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with PrometheusExporter(PrometheusConfig(port=port), tmp_path) as exporter:
            exporter.on_progress(whole_report())
            assert exporter.port is None
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use; the run goes on without it" in caplog.text


class Scraper:
    """Scrapes the run that it observes, at the address that its log names."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.text = ""

    def on_progress(self, numbers: Numbers) -> None:
        address = ADDRESS.search((self._folder / "run.log").read_text())
        assert address is not None
        with urllib.request.urlopen(address[0], timeout=10) as response:
            self.text = response.read().decode()

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        pass


def test_a_run_is_scraped_while_it_trains(tmp_path: Path) -> None:
    scraper = Scraper(tmp_path / "run")
    run = ludus.train(SMALL, minutes=0.05, run_dir=tmp_path / "run", observer=scraper, progress=False)
    found = values(scraper.text)
    assert found["ludus_progress_updates_total", ()] == run.updates
    matches = found["ludus_progress_matches_total", ()]
    assert matches > 0
    assert found["ludus_match_seconds_count", ()] == matches
    assert 0 <= found["ludus_host_busy_ratio", ("0",)] <= 1
    assert found["ludus_learner_skipped_total", ()] == 0
    assert any(name == "ludus_activity_seconds_bucket" for name, _ in found)
    address = ADDRESS.search((tmp_path / "run" / "run.log").read_text())
    assert address is not None
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address[0], timeout=10)
