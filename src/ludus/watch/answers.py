"""Answers the questions of the page, as plain data for JSON. One lock guards everything that is kept between them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ludus.config.folders import CONFIG
from ludus.metrics import names
from ludus.metrics.exporters import text
from ludus.watch import run_files, runs_folder
from ludus.watch.progress import ProgressTable
from ludus.watch.runs_folder import Runs
from ludus.watch.status import Processes, state
from ludus.watch.thinning import Table

KEPT = 8  # tables of runs in memory, 1 MB each
KEPT_FACTS = 2000  # answers of other files in memory: a few KB each, of a long history of evaluations up to a MB
LOOK_S = 0.05  # spent on reading more of a progress.csv, per answer
GLANCE_S = 0.0  # the same for a line in the list of runs: one block
DIGITS, AXIS_DIGITS = 6, 10  # significant ones in series
MOST_NAMES = 200  # columns of one answer
AXES = (names.TRAINING_S, names.DECISIONS, names.UPDATES)

Plain = dict[str, Any]  # Any: plain data for JSON
Query = Mapping[str, str]


class NotFound(Exception):
    """There is no such run or file. The message is for the user."""


class Answers:
    """Answers about the runs of a folder. Safe to use from several threads."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._tables: OrderedDict[str, ProgressTable] = OrderedDict()
        self._facts: OrderedDict[tuple[str, Path], tuple[object, Any]] = OrderedDict()  # Any: plain data for JSON
        self._processes = Processes()
        self._lock = threading.Lock()
        self._by_name: dict[str, Callable[[Query], Plain]] = {
            "runs": self._list,
            "run": self._run,
            "series": self._series,
            "config": self._config,
            "metrics": lambda query: metrics(),
        }

    def to(self, question: str, query: Query) -> Plain:
        """Answer one question. Raises NotFound."""
        ask = self._by_name.get(question)
        if ask is None:
            raise NotFound(f"no answer to {question!r}; there are {', '.join(self._by_name)}")
        with self._lock:
            return ask(query)

    def page_of_match(self, query: Query) -> bytes:
        """Return the page of a saved match. Raises NotFound."""
        page = run_files.page(self._folder(query), query.get("name", ""))
        if page is None:
            raise NotFound("no such match in this run")
        return page

    def whole_run(self, name: str, deadline_s: float) -> Plain:
        """Return what the page asks about one run: its answer to `run`, all its series, and its settings.

        Reads progress.csv to its end; after `deadline_s`, samples stand for the rest. Raises NotFound.
        """
        query = {"run": name}
        with self._lock:
            path = self._folder(query)
            table = self._table(name, path)
            table.advance(deadline_s)
            return {
                "run": {**self._run(query), "processes": []},
                "series": series(table, table.columns),
                "config": self._config(query),
            }

    def _folder(self, query: Query) -> Path:
        name = query.get("run", "")
        path = self._runs.path(name)
        if path is None:
            raise NotFound(f"the run {name} is not in {self._runs.root} (any more)")
        return path

    def _list(self, query: Query) -> Plain:
        return {
            "root": str(self._runs.root),
            "runs": [
                summary
                for name in self._runs.names()
                if (path := self._runs.path(name)) is not None and (summary := self._summary(name, path))
            ],
        }

    def _summary(self, name: str, path: Path) -> Plain:
        """Return one line of the list of runs."""
        evaluations = self._fact(run_files.evaluations, path, runs_folder.EVALUATIONS)
        last = evaluations[-1] if evaluations else None
        numbers = self._tables[name].latest if name in self._tables else self._fact(_latest, path, runs_folder.PROGRESS)
        changes = (
            runs_folder.changed_s(path, file) for file in (runs_folder.PROGRESS, runs_folder.EVALUATIONS, CONFIG)
        )
        return {
            "name": name,
            "game": _game(self._fact(run_files.config, path, CONFIG)),
            "state": state(path, has_final=last is not None and last["final"]),
            "changed_s": max((each for each in changes if each is not None), default=0.0),
            "numbers": {key: numbers[key] for key in SUMMARY if key in numbers},
            "evaluation": last,
        }

    def _fact(self, reader: Callable[[Path], Any], path: Path, *files: str) -> Any:  # Any: plain data for JSON
        """Return what a function reads from a run. It is called again only when one of these files has changed."""
        key = (reader.__name__, path)
        stamps = tuple(runs_folder.stamp(path, name) for name in files)
        entry = self._facts.pop(key, None)
        if entry is None or entry[0] != stamps:
            entry = (stamps, reader(path))
        self._facts[key] = entry
        while len(self._facts) > KEPT_FACTS:
            self._facts.popitem(last=False)
        return entry[1]

    def _run(self, query: Query) -> Plain:
        path = self._folder(query)
        table = self._table(path.name, path)
        table.advance(LOOK_S)
        return {
            **self._summary(path.name, path),
            "numbers": table.latest,
            "columns": table.columns,
            "revision": table.revision,
            "damaged": table.damaged,
            "not_finite": table.not_finite,
            "bottleneck": text.bottleneck(table.latest),
            "evaluations": self._fact(run_files.evaluations, path, runs_folder.EVALUATIONS),
            "activities": self._fact(run_files.activities, path, *run_files.ACTIVITY_FILES),
            "starts": self._fact(run_files.starts, path, runs_folder.STARTS),
            "processes": [asdict(use) for use in self._processes.of(path)],
            "log": self._fact(run_files.log, path, runs_folder.LOG),
            "matches": self._fact(run_files.matches, path, run_files.REPLAYS),
        }

    def _series(self, query: Query) -> Plain:
        path = self._folder(query)
        table = self._table(path.name, path)
        table.advance(LOOK_S)
        return series(table, query.get("names", "").split(",")[:MOST_NAMES])

    def _config(self, query: Query) -> Plain:
        return {"settings": self._fact(run_files.config, self._folder(query), CONFIG)}

    def _table(self, name: str, path: Path) -> ProgressTable:
        table = self._tables.pop(name, None) or ProgressTable(path)
        self._tables[name] = table  # the latest used is the last
        while len(self._tables) > KEPT:
            self._tables.popitem(last=False)
        return table


SUMMARY = (
    names.PROGRESS,
    names.PHASE,
    names.TRAINING_S,
    names.ETA_S,
    names.DECISIONS,
    names.MATCHES,
    names.UPDATES,
    names.DECISIONS_PER_S,
    names.STAGE,
    names.STAGES_TOTAL,
    names.STAGE_NAME,
    names.REWARD,
)


def series(table: ProgressTable, column_names: Iterable[str]) -> Plain:
    """Return columns as lists: their means per bucket and, where a bucket covers several rows, minimum and maximum."""
    lines = table.series(column_names)
    is_thin = len(lines.mean) < lines.rows or not lines.is_exact
    mean = _rounded(lines.mean, [AXIS_DIGITS if name in AXES else DIGITS for name in lines.columns])
    low, high = (_rounded(part, [DIGITS] * len(lines.columns)) for part in (lines.low, lines.high))
    return {
        "rows": lines.rows,
        "exact": lines.is_exact,
        "series": {
            name: {"mean": mean[:, at].tolist()}
            | ({"low": low[:, at].tolist(), "high": high[:, at].tolist()} if is_thin and name not in AXES else {})
            for at, name in enumerate(lines.columns)
        },
    }


def metrics() -> Plain:
    """Return kind, unit and meaning of every metric, family and activity."""
    return {
        "metrics": {each.name: [each.kind, each.unit, each.meaning] for each in names.METRICS},
        "families": {each.prefix: [each.kind, each.unit, each.meaning] for each in names.FAMILIES},
        "activities": {each.name: each.meaning for each in names.ACTIVITIES},
    }


def _latest(path: Path) -> dict[str, float | str]:
    table = ProgressTable(path)
    table.advance(GLANCE_S)
    return table.latest


def _game(config: Mapping[str, object]) -> str:
    """Return the game of a run with its main option, such as "showdown gen1randombattle"."""
    options = [str(value) for key, value in config.items() if key.startswith("options.") and isinstance(value, str)]
    return " ".join([str(config.get("game", "")), *options[:1]]).strip()


def _rounded(table: Table, digits: Sequence[int]) -> Table:
    """Round each column to significant digits, which shortens the JSON."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = 10.0 ** (np.array(digits) - 1 - np.floor(np.log10(np.abs(table))))
        rounded = np.round(table * scale) / scale
    return np.where(np.isfinite(rounded), rounded, table)
