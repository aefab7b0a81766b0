"""Serves the numbers of a run to Prometheus. Needs the package prometheus-client."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ludus import files
from ludus.config.settings import PrometheusConfig
from ludus.errors import SetupError
from ludus.metrics import series_names
from ludus.metrics.observer import Numbers, Result
from ludus.metrics.series_names import DurationHistogram, Sample
from ludus.metrics.times import Times

if TYPE_CHECKING:
    from wsgiref.simple_server import WSGIServer

    from prometheus_client.core import Metric

log = logging.getLogger(__name__)


class PrometheusExporter:
    """A server that answers scrapes from memory, in a thread of its own. Use it in a `with` statement.

    The run goes on without it, with a warning, if its port is in use. Between reports, scrapes see the latest one.
    """

    def __init__(self, config: PrometheusConfig, folder: Path) -> None:
        """Raises SetupError if the package is missing."""
        try:
            import prometheus_client  # noqa: F401  only to see whether it is there
        except ImportError as error:
            raise SetupError(
                "metrics.prometheus needs a package that is not installed: pip install 'ludus-rl[prometheus]'"
            ) from error
        self._config = config
        self._folder = folder
        self._samples: Sequence[Sample] = ()
        self._durations: Sequence[DurationHistogram] = ()
        self._server: WSGIServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int | None:
        """The port of the server, or None if it could not listen."""
        return None if self._server is None else self._server.server_port

    def on_times(self, times: Times) -> None:
        self._durations = series_names.histograms_of(times)

    def on_progress(self, numbers: Numbers) -> None:
        samples, omitted = series_names.samples(numbers)
        extra = [(series_names.UP_TO_DATE, time.time()), (series_names.LEFT_OUT, float(omitted))]
        extra += [(series_names.FREE, float(shutil.disk_usage(self._folder).free))]
        self._samples = [*samples, *(Sample(each, (), value) for each, value in extra)]

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        """Do nothing: the next report has the win rates."""

    def collect(self) -> Iterator[Metric]:
        """Return the latest report. prometheus-client calls this for each scrape."""
        yield from _families(self._samples)
        yield from _histograms(self._durations)

    def __enter__(self) -> PrometheusExporter:
        from prometheus_client import CollectorRegistry, start_http_server

        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        where = f"{self._config.address}:{self._config.port}"
        try:
            self._server, self._thread = start_http_server(self._config.port, self._config.address, registry)
        except OSError as error:
            log.warning(
                "metrics.prometheus cannot listen on %s: %s; the run goes on without it. Choose another port for the "
                "next run, or 0 for any free one",
                where,
                files.reason(error),
            )
        else:
            log.info("metrics for Prometheus: http://%s:%s/metrics", self._config.address, self.port)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = None


def _families(samples: Iterable[Sample]) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
    for sample in samples:
        published = sample.published
        family = families.get(published.name)
        if family is None:
            kind = CounterMetricFamily if published.type == "counter" else GaugeMetricFamily
            family = families[published.name] = kind(published.name, published.help, labels=published.labels)
        family.add_metric(sample.values, sample.value)
    yield from families.values()


def _histograms(histograms: Iterable[DurationHistogram]) -> Iterator[Metric]:
    from prometheus_client.core import HistogramMetricFamily

    families: dict[str, HistogramMetricFamily] = {}
    for histogram in histograms:
        published = histogram.published
        family = families.get(published.name)
        if family is None:
            family = HistogramMetricFamily(published.name, published.help, labels=published.labels)
            families[published.name] = family
        buckets = [("+Inf" if bound == float("inf") else repr(bound), count) for bound, count in histogram.counts]
        family.add_metric(histogram.values, buckets, histogram.total_s)
    yield from families.values()
