"""Writes a league as one HTML file: table, pictures and links to best matches. It needs no network, no script."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from ludus.evaluation.best_matches import FOLDER, BestMatch, page_path, scores_by_member
from ludus.league.members import League, Member
from ludus.league.standings import Standing, Standings

STYLE = """
:root { color-scheme: light dark; --line: #8884; --dim: #777; --bar: #0072B2; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1360px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .45rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--dim); } .left { text-align: left; }
.wide { overflow-x: auto; } .dim { color: var(--dim); }
.warning { border-left: 3px solid #D55E00; padding-left: .7rem; }
img { max-width: 100%; height: auto; background: white; }
svg { display: block; width: 150px; height: 16px; }
"""
COLUMNS = (
    "&gt; next: probability of being stronger than the next member. Nash, alpha-rank: weights in mixtures that account "
    "for cycles. Worst opponent: whom the member scores least against."
)


def html_page(
    league: League,
    table: Standings,
    members: Mapping[str, Member],
    best: Sequence[BestMatch],
    payoff: bytes | None,
    training: bytes | None,
) -> str:
    """Return the page. Names come from other machines, so every text is escaped."""
    title = f"League {league.folder.absolute().name}"
    matches = table.matches
    options = ", ".join(f"{name} {value}" for name, value in sorted(league.note.options.items()) if name == "format")
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="dim">{html.escape(league.note.spec)} {html.escape(options)}: {len(table.lines)} members, '
        f"{matches:,} matches.</p>",
        *(_note(note) for note in table.notes),
        _table(table),
        f'<p class="dim">{COLUMNS}</p>',
    ]
    if payoff is not None and matches:
        parts += ["<h2>Who beats whom</h2>", _picture(payoff, "payoff heat map")]
    if training is not None:
        parts += ["<h2>Ratings over training</h2>", _picture(training, "ratings over training")]
    parts += _best(best)
    parts += _members(members)
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _table(table: Standings) -> str:
    heads = ["", "member", "Elo", "95% interval", "", "matches", "score", "> next", "Nash", "alpha-rank"]
    heads += ["worst opponent", "forfeits", *(["first side", "second side"] if table.sides_differ else [])]
    cells = "".join(f'<th class="left">{head}</th>' if head == "member" else f"<th>{head}</th>" for head in heads)
    rows = [f"<tr>{cells}</tr>"]
    low = min((line.low for line in table.lines), default=0.0)
    high = max((line.high for line in table.lines), default=1.0)
    for line in table.lines:
        worst = f"{html.escape(line.worst_opponent)} ({_percent(line.worst_share)})" if line.worst_opponent else "-"
        values = (
            f"<td>{line.rank}</td>",
            f'<td class="left">{html.escape(line.name)}</td>',
            f"<td><b>{line.elo:.0f}</b></td>",
            f'<td class="dim">{line.low:.0f} to {line.high:.0f}</td>',
            f"<td>{_interval(line, low, high)}</td>",
            f"<td>{line.matches:,}</td>",
            *(f"<td>{_percent(share)}</td>" for share in (line.share, line.better_than_next)),
            *(f"<td>{_percent(share)}</td>" for share in (line.nash, line.alpha_rank)),
            f'<td class="left">{worst}</td>',
            f"<td>{line.forfeits or ''}</td>",
            *(f"<td>{elo:.0f}</td>" for elo in (line.first_elo, line.second_elo) if table.sides_differ),
        )
        rows.append(f"<tr>{''.join(values)}</tr>")
    return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def _interval(line: Standing, low: float, high: float) -> str:
    """Return a drawing of a rating and its interval, on the scale of the whole table."""
    span = max(high - low, 1e-9)
    begin, centre, end = (4 + 142 * (value - low) / span for value in (line.low, line.elo, line.high))
    return (
        '<svg viewBox="0 0 150 16" role="img">'
        f'<line x1="{begin:.1f}" x2="{end:.1f}" y1="8" y2="8" stroke="var(--bar)" stroke-width="2"/>'
        f'<circle cx="{centre:.1f}" cy="8" r="4" fill="var(--bar)"/></svg>'
    )


def _best(best: Sequence[BestMatch]) -> list[str]:
    if not best:
        return []
    rows = ['<tr><th class="left">why</th><th class="left">match</th><th>turns</th><th class="left">files</th></tr>']
    for each in best:
        scores = scores_by_member(each.match.policies, each.match.score)
        winner = max(scores, key=lambda name: scores[name])
        why = {
            "upset": f"upset: the winner had {_percent(-each.interest)}",
            "high rating": "high rating",
            "swing": f"swing: the players' estimates changed by {each.interest:.2f}",
        }[each.kind]
        files = f'<a href="{FOLDER}/{quote(each.path.name)}">saved match</a>'
        page = page_path(each.path)
        if page.exists():
            files += f' <a href="{FOLDER}/{quote(page.name)}">replay</a>'
        rows.append(
            f'<tr><td class="left">{html.escape(why)}</td><td class="left"><b>{html.escape(winner)}</b> beats '
            f"{html.escape(', '.join(name for name in scores if name != winner))}</td>"
            f'<td>{each.match.turns:.0f}</td><td class="left">{files}</td></tr>'
        )
    hint = '<p class="dim">Watch a saved match with <code>ludus replay FILE</code>.</p>'
    return ["<h2>Best matches</h2>", f'<div class="wide"><table>{"".join(rows)}</table></div>', hint]


def _members(members: Mapping[str, Member]) -> list[str]:
    heads = ("member", "kind", "from", "updates", "minutes of training", "trained from", "added")
    rows = ["<tr>" + "".join(f'<th class="left">{head}</th>' for head in heads) + "</tr>"]
    for member in members.values():
        cells = (
            member.name,
            member.kind,
            member.origin,
            f"{member.version:,}" if member.version else "",
            f"{member.training_s / 60:.1f}" if member.training_s else "",
            ", ".join(member.parents),
            member.added,
        )
        rows.append("<tr>" + "".join(f'<td class="left">{html.escape(cell)}</td>' for cell in cells) + "</tr>")
    return ["<h2>Members</h2>", f'<div class="wide"><table>{"".join(rows)}</table></div>']


def _note(note: str) -> str:
    kind = "warning" if note.startswith("Warning:") else "dim"
    return f'<p class="{kind}">{html.escape(note)}</p>'


def _picture(png: bytes, description: str) -> str:
    return f'<img alt="{html.escape(description)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f}%"
