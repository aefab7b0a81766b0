"""A battle's log as a page in the format of Showdown's downloadable replays.

The animated viewer is a script from Showdown's own site; without the internet the page still shows the battle in words.
"""

from __future__ import annotations

import html
from collections.abc import Iterator

VIEWER = "https://play.pokemonshowdown.com/js/replay-embed.js"

QUIET = {"", "t:", "gametype", "gen", "rule", "teamsize", "start", "upkeep", "clearpoke", "debug"}  # for machines

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<!-- version 1 -->
<title>{title}</title>
<style>
body {{ font: 15px/1.5 Verdana, sans-serif; margin: 1em auto; max-width: 1180px; padding: 0 1em; }}
h2 {{ border-bottom: 1px solid #aaa; font-size: 1em; margin: 1.2em 0 0.3em; }}
.log p {{ margin: 0.1em 0; }}
.log .detail {{ color: #555; padding-left: 1.5em; }}
</style>
</head>
<body>
<h1>{title}</h1>
<div class="wrapper replay-wrapper" style="max-width:1180px;margin:0 auto">
<input type="hidden" name="replayid" value="">
<div class="battle"></div><div class="battle-log"></div>
<div class="replay-controls"></div><div class="replay-controls-2"></div>
<script type="text/plain" class="battle-log-data">{data}</script>
</div>
<div class="log">
{readable}
</div>
<script src="{viewer}" defer></script>
</body>
</html>
"""


def page(title: str, log: str) -> str:
    """Return an HTML page of a battle. All text from the log is escaped."""
    lines = list(public(log.split("\n")))
    return PAGE.format(
        title=html.escape(title),
        data=_data(lines),
        readable="\n".join(
            _paragraph(line) for line in lines if line.startswith("|") and line.split("|")[1] not in QUIET
        ),
        viewer=VIEWER,
    )


def _data(lines: list[str]) -> str:
    """Escape the log for a script element, so that no line of it ends the element or opens a comment."""
    return "\n".join(lines).replace("/", "\\/").replace("<!--", "<! --")


def public(lines: list[str]) -> Iterator[str]:
    """Yield the lines that a spectator sees: `|split|SIDE` precedes a line for that side and one for everybody."""
    secret = 0
    for line in lines:
        if line.startswith("|split|"):
            secret = 2
        elif secret == 2:
            secret = 1
        else:
            secret = 0
            yield line


def _paragraph(line: str) -> str:
    kind, *parts = line[1:].split("|")
    if kind == "turn":
        return f"<h2>Turn {html.escape(parts[0] if parts else '')}</h2>"
    style = ' class="detail"' if kind.startswith("-") else ""
    return f"<p{style}>{html.escape(_sentence(kind, parts))}</p>"


def _sentence(kind: str, parts: list[str]) -> str:
    """Return a sentence for common kinds of lines, and the line itself for others."""
    names = [_name(part) for part in parts]
    match kind, names:
        case "move", [who, move, target, *_] if target and target != who:
            return f"{who} used {move} on {target}"
        case "move", [who, move, *_]:
            return f"{who} used {move}"
        case (("switch" | "drag" | "replace"), [who, details, health, *_]):
            return f"{who} came in: {details}, {health}"
        case "faint", [who, *_]:
            return f"{who} fainted"
        case "cant", [who, reason, *_]:
            return f"{who} could not move: {reason}"
        case (("-damage" | "-heal" | "-sethp"), [who, health, *why]):
            return f"{who} is at {health}" + "".join(f" {reason}" for reason in why if reason)
        case "win", [who, *_]:
            return f"{who} won"
        case "tie", _:
            return "A tie"
    return " ".join([kind.lstrip("-"), *(part for part in names if part)])


def _name(part: str) -> str:
    """Turn `p1a: Pikachu` into `Pikachu (p1)`."""
    seat, colon, name = part.partition(": ")
    return f"{name} ({seat[:2]})" if colon and len(seat) in (2, 3) and seat[0] == "p" and seat[1].isdigit() else part
