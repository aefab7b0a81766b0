"""Reads the small files of a run: evaluations, activities, starts, configuration, log, saved matches.

Each function returns plain data for JSON, and an empty answer for files that are missing or damaged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from ludus.config import document
from ludus.config.folders import CONFIG
from ludus.errors import ConfigError
from ludus.metrics import bottleneck, times
from ludus.metrics.intervals import wilson
from ludus.watch import runs_folder

EVALUATION_BYTES = 32 << 20
CONFIG_BYTES = 1 << 20
START_BYTES = 1 << 20
LOG_BYTES, LOG_LINES = 1 << 17, 300
MATCH_BYTES, MOST_MATCHES = 16 << 20, 200
REPLAYS = "replays"
ACTIVITY_FILES = (times.ACTIVITIES_FILE, times.STAGES_FILE)
SAVED, PAGE = ".ludus.json", ".html"
LOG_LINE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ (?P<level>[A-Z]+) ")

Plain = dict[str, Any]  # Any: plain data for JSON


def evaluations(run: Path) -> list[Plain]:
    """Return the evaluations in order, each score with its win rate and 95% interval. Numbers that this version does
    not know, such as ratings, are kept."""
    history = []
    for line in runs_folder.head(run, runs_folder.EVALUATIONS, EVALUATION_BYTES).splitlines():
        data = _decoded(line)
        if isinstance(data, dict) and isinstance(data.get("scores"), list):
            scores = [score for each in data["scores"] if (score := _score(each)) is not None]
            history.append({**_numbers(data), "final": data.get("final") is True, "scores": scores})
    return history


def _score(data: object) -> Plain | None:
    if not isinstance(data, dict) or not isinstance(data.get("opponent"), str):
        return None
    score = {"opponent": data["opponent"], **_numbers(data)}
    wins, matches = score.get("wins"), score.get("matches")
    if isinstance(wins, int) and isinstance(matches, int) and 0 <= wins <= matches:
        score |= {"win_rate": wins / matches if matches else 0.0, "interval": wilson(wins, matches)}
    return score


def _numbers(data: Mapping[str, object]) -> Plain:
    """Return the finite numbers, and pairs of such numbers, of a JSON object."""
    numbers: Plain = {}
    for key, value in data.items():
        pair = value if isinstance(value, list) and len(value) == 2 else [value]
        if all(isinstance(each, int | float) and not isinstance(each, bool) and math.isfinite(each) for each in pair):
            numbers[key] = value
    return numbers


def activities(run: Path) -> Plain:
    """Return where the time of each kind of process went, over the whole run."""
    run_times = times.read(run) if any((run / name).is_file() for name in ACTIVITY_FILES) else None
    if run_times is None:
        return {}
    lines = run_times.times.lines()
    shares = {line.activity: line.share for line in lines}
    return {
        "hosts": run_times.hosts,
        "cores": run_times.cores,
        "bottleneck": bottleneck.sentence(shares, hosts=run_times.hosts, cores=run_times.cores),
        "lines": [asdict(line) for line in lines],
    }


def starts(run: Path) -> list[Plain]:
    """Return the version, commit and machine of every start."""
    lines = runs_folder.head(run, runs_folder.STARTS, START_BYTES).splitlines()
    return [data for line in lines if isinstance(data := _decoded(line), dict)]


def config(run: Path) -> Plain:
    """Return the settings by path: {"learner.lr": 0.001, ...}."""
    try:
        text = document.decode(runs_folder.head(run, CONFIG, CONFIG_BYTES), CONFIG)
        data = document.parse(text, CONFIG)
    except ConfigError:
        return {}
    return dict(_flat("", data)) if isinstance(data, dict) and data else {}


def _flat(prefix: str, data: object) -> list[tuple[str, object]]:
    if isinstance(data, dict) and data:
        return [pair for key, value in data.items() for pair in _flat(f"{prefix}.{key}" if prefix else str(key), value)]
    return [(prefix, data if isinstance(data, str | int | float | bool | None) else repr(data))]


def log(run: Path) -> list[Plain]:
    """Return the last lines of run.log with their level. Lines of a traceback have the level of its first line."""
    lines, level = [], ""
    for raw in runs_folder.tail(run, runs_folder.LOG, LOG_BYTES)[-LOG_LINES:]:
        text = raw.decode("utf-8", "replace")
        if match := LOG_LINE.match(text):
            level = match["level"]
        lines.append({"level": level, "text": text[:2000]})
    return lines


def matches(run: Path) -> list[Plain]:
    """Return the saved matches in replays/: who played, the scores, and whether there is a page to watch."""
    try:
        paths = sorted((run / REPLAYS).iterdir())
    except OSError:
        return []
    pages = {path.name for path in paths if path.name.endswith(PAGE)}
    saved = [path.name for path in paths if path.name.endswith(SAVED)][:MOST_MATCHES]
    with_moves = [_match(run, name, name.removesuffix(SAVED) + PAGE) for name in saved]
    alone = sorted(pages - {name.removesuffix(SAVED) + PAGE for name in saved})[:MOST_MATCHES]
    return [
        *({**each, "page": each["page"] if each["page"] in pages else None} for each in with_moves),
        *({"name": name, "page": name} for name in alone),
    ]


def _match(run: Path, name: str, page: str) -> Plain:
    data = _decoded(runs_folder.head(run, f"{REPLAYS}/{name}", MATCH_BYTES))
    match: Plain = {"name": name, "page": page}
    if isinstance(data, dict):
        policies, score = data.get("policies"), data.get("score")
        if isinstance(policies, list) and isinstance(score, list):
            match |= {"policies": [str(each) for each in policies], "score": score}
        match |= {key: data[key] for key in ("turns", "seed") if isinstance(data.get(key), int | float)}
    return match


def page(run: Path, name: str) -> bytes | None:
    """Return the page of a saved match, or None if there is none of this name."""
    if not name.endswith(PAGE) or name != Path(name).name or "\0" in name:
        return None
    return runs_folder.head(run, f"{REPLAYS}/{name}", MATCH_BYTES) or None


def _decoded(line: bytes) -> object:
    try:
        return msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
