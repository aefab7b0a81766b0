"""The HTML page of a replayed match, which plays it on a canvas. It loads nothing from elsewhere."""

from __future__ import annotations

import html
from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent / "page"


def page(title: str, log: str) -> str:
    """Return a page that plays the record of a match (host/recording.js). No text of the record can end its element."""
    return Template(_part("replay.html")).substitute(
        title=html.escape(title),
        style=_part("replay.css"),
        script=_part("replay.js"),
        log=log.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"),
    )


def _part(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
