"""Write docs/metrics.md from ludus/metrics/names.py: python scripts/metrics_page.py"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ludus.metrics import names

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"
KINDS = (
    ("counter", "grows over the whole run, resumes included"),
    ("gauge", "the latest value"),
    ("mean", "over what happened since the last report, about a second ago"),
    ("rate", "growth of a counter over the last ten reports, per time of training"),
    ("share", "of the time of its process lately: half of the weight is on the last 15 s of training"),
    ("duration", "of one pass of an activity, lately as well; percentiles are exact to about 12%"),
)


def page() -> str:
    """Return the text of the page."""
    metrics = ((metric.name, metric.kind, metric.unit, metric.meaning) for metric in names.METRICS)
    families = (
        (f"{family.prefix}/...", family.kind, family.unit, f"{family.meaning}; as in `{family(family.example)}`")
        for family in names.FAMILIES
    )
    activities = ((f"share/{activity.name}", activity.meaning) for activity in names.ACTIVITIES)
    return "\n".join(
        [
            "# Metrics",
            "",
            "Every number a run reports, under the same name in progress.csv, TensorBoard and the live table. Made by",
            "`python scripts/metrics_page.py` from `src/ludus/metrics/names.py`; do not edit it here.",
            "",
            *table(("kind", "meaning"), KINDS),
            "",
            "## Numbers",
            "",
            *table(("name", "kind", "unit", "meaning"), metrics),
            "",
            "## Families",
            "",
            *table(("name", "kind", "unit", "meaning"), families),
            "",
            "## Activities",
            "",
            "What the time of each kind of process went into. Shares are of its own wall-clock (of all hosts together)",
            "and sum to 1 with what is left, `other`; shares of two kinds do not add up. Time in which an evaluation",
            "ran is left out; activities.json and report.md have the whole run. Each activity has a `mean_ms/...`,",
            "`p50_ms/...` and `p95_ms/...` as well. [Where the time goes](diagnostics.md) says how it is measured.",
            "",
            *table(("name", "meaning"), activities),
            "",
        ]
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table. The first column is formatted as code."""
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    lines += [f"| {' | '.join((f'`{row[0]}`', *row[1:]))} |" for row in rows]
    return lines


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
