"""Writes the page with everything that it shows into one file, which needs no server and no network."""

from __future__ import annotations

import secrets
from datetime import datetime
from pathlib import Path
from typing import Any

from ludus import files
from ludus.watch import assets
from ludus.watch.answers import Answers, NotFound

MOST_RUNS = 20  # the latest ones; 1 to 2 MB each
READ_S = 60.0  # deadline for reading the progress.csv of one run; a run of ten days takes half of it
MOST_MATCH_BYTES = 20_000_000  # of saved matches, in all


def write(answers: Answers, path: Path) -> int:
    """Write the page. Returns its size in bytes; raises OSError."""
    data = assets.single_page(snapshot(answers), secrets.token_urlsafe()).encode()
    files.replace(path, data)
    return len(data)


def snapshot(answers: Answers) -> dict[str, Any]:  # Any: plain data for JSON
    """Return all answers that the page may ask for."""
    runs = answers.to("runs", {})
    runs["runs"] = runs["runs"][:MOST_RUNS]
    by_run: dict[str, Any] = {}  # Any: plain data for JSON
    room = MOST_MATCH_BYTES
    for run in runs["runs"]:
        by_run[run["name"]] = own = answers.whole_run(run["name"], READ_S)
        own["pages"] = pages = {}
        for match in own["run"]["matches"]:
            if (page := _page(answers, run["name"], match["page"])) is not None and len(page) <= room:
                pages[match["page"]] = page.decode("utf-8", "replace")
                room -= len(page)
    exported_at = datetime.now().astimezone().isoformat(" ", "minutes")
    return {"exported_at": exported_at, "runs": runs, "metrics": answers.to("metrics", {}), "by_run": by_run}


def _page(answers: Answers, run: str, name: str | None) -> bytes | None:
    try:
        return None if name is None else answers.page_of_match({"run": run, "name": name})
    except NotFound:
        return None
