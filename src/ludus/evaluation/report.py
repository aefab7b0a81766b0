"""Writes report.md: win rates, learning curve and activity times, from the files in the run's folder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import ludus
from ludus import files
from ludus.config import familiar
from ludus.config.settings import RunConfig
from ludus.evaluation import curve, league_section, rating_curve, reward_curves
from ludus.league import opponent_log
from ludus.league.opponent_log import OPPONENTS, OpponentLine
from ludus.league.rating_history import rate_run
from ludus.metrics import bottleneck, names, reward_terms, times
from ludus.metrics.exporters import csv, evaluations, text
from ludus.metrics.exporters.evaluations import Evaluation, Score
from ludus.metrics.intervals import Z_95, wilson
from ludus.metrics.observer import ALONE
from ludus.metrics.reward_terms import Curve
from ludus.metrics.times import RunTimes

PROGRESS, EVALUATIONS, REPORT, CURVE = "progress.csv", "evaluations.jsonl", "report.md", "learning_curve.png"
RATING_CURVE = "rating_curve.png"
CURVES_NOTE = (
    "Means over matches and, for numbers that each seat has, over learning seats: in the first and the last tenth of "
    "the run."
)
REWARD_TERMS, FACTS = "reward_terms.png", "facts.png"
MOST_OPPONENTS = 20  # in the table of opponents


@dataclass(frozen=True, slots=True)
class Figures:
    """Totals of a run."""

    training_s: float
    counters: Mapping[str, float]

    @property
    def decisions_per_s(self) -> float:
        return self._per_s(names.DECISIONS)

    @property
    def matches_per_hour(self) -> float:
        return 3600 * self._per_s(names.MATCHES)

    def _per_s(self, name: str) -> float:
        return self.counters.get(name, math.nan) / self.training_s if self.training_s > 0 else math.nan


def write(run_dir: Path, config: RunConfig, command: str) -> Path:
    """Write the report and its picture into the run's folder. `command` repeats the run.

    Raises OSError; an older report then stays unchanged."""
    history = evaluations.read(run_dir / EVALUATIONS)
    title = familiar.title(config)
    if history:
        curve.draw(history, run_dir / CURVE, title)
        ratings = rate_run(history)
        if ratings is not None:
            rating_curve.draw(history, ratings, run_dir / RATING_CURVE, title)
    run_times = times.read(run_dir)
    rows = csv.read(run_dir / PROGRESS)
    terms, facts = reward_terms.terms(rows), reward_terms.facts(rows)
    for curves, picture, what in ((terms, REWARD_TERMS, "reward terms"), (facts, FACTS, "facts of matches")):
        if curves:
            reward_curves.draw(curves, run_dir / picture, f"{title}: {what} in training")
    opponents = opponent_log.latest(run_dir / OPPONENTS)
    folder = config.opponents.league
    league = league_section.write(run_dir, Path(folder)) if folder else []
    page = markdown(title, history, figures(rows), command, run_times, stages(rows), (terms, facts), opponents, league)
    files.replace(run_dir / REPORT, page.encode())
    return run_dir / REPORT


def figures(rows: Sequence[Mapping[str, str]]) -> Figures:
    """Return the totals of a run from the rows of its progress.csv."""
    kinds = {metric.name: metric.kind for metric in names.METRICS}
    training_s = 0.0
    counters: dict[str, float] = {}
    for row in rows:
        numbers = {name: number for name, value in row.items() if (number := _float(value)) is not None}
        training_s = numbers.get(names.TRAINING_S, training_s)
        counter_names = (name for name in numbers if kinds.get(name) == "counter")
        counters.update({name: numbers[name] for name in counter_names})
    return Figures(training_s, counters)


@dataclass(frozen=True, slots=True)
class StageSpan:
    """A stage of the curriculum and the time at which it began."""

    name: str
    number: str
    training_s: float
    updates: float


def stages(rows: Sequence[Mapping[str, str]]) -> list[StageSpan]:
    """Return the stages of a run in order, including repeated ones, from the rows of its progress.csv."""
    spans: list[StageSpan] = []
    for row in rows:
        name = row.get(names.STAGE_NAME)
        if name and (not spans or spans[-1].name != name):
            number = f"{_float(row.get(names.STAGE, '')) or math.nan:.0f}"
            spans.append(
                StageSpan(
                    name,
                    number,
                    _float(row.get(names.TRAINING_S, "")) or 0.0,
                    _float(row.get(names.UPDATES, "")) or 0.0,
                )
            )
    return spans


def markdown(
    title: str,
    history: Sequence[Evaluation],
    numbers: Figures,
    command: str,
    run_times: RunTimes | None = None,
    spans: Sequence[StageSpan] = (),
    curves: tuple[Sequence[Curve], Sequence[Curve]] = ((), ()),
    opponents: OpponentLine | None = None,
    league: Sequence[str] = (),
) -> str:
    """Return the report as Markdown. `curves` are those of the reward terms and of the other facts; `league` is the
    section about the run's league."""
    last = history[-1] if history else None
    lines = [f"# {title}", "", f"Trained with ludus {ludus.__version__} for {text.duration(numbers.training_s)}.", ""]
    if last is None:
        lines += ["This run ended before its first evaluation.", ""]
    else:
        when = "at the end" if last.final else f"after {text.duration(last.training_s)}, before the run was stopped"
        alone = any(score.opponent == ALONE for score in last.scores)
        what = "Returns" if alone else "Win rates"
        lines += [f"## {what} {when}", "", *table(last.scores), "", f"![{what} over training]({CURVE})", ""]
        if not alone:
            lines += ["Every seed is played from every seat. A tie is no win. Intervals are Wilson's, 95%.", ""]
            lines += rating_lines(history)
    lines += [*opponent_lines(opponents), *league]
    lines += ["## The run", "", "| | |", "| --- | ---: |"]
    lines += [*(f"| {label} | {value} |" for label, value in _run_rows(numbers)), ""]
    if spans:
        lines += ["## Curriculum", "", "| stage | | from | update |", "| ---: | --- | ---: | ---: |"]
        lines += [f"| {s.number} | {s.name} | {text.duration(s.training_s)} | {s.updates:,.0f} |" for s in spans]
        lines += ["", "Evaluations are with the settings of the stage they were made in.", ""]
    lines += curve_lines(*curves)
    if run_times is not None and run_times.times.walls:
        lines += ["## Where the time went", "", *where_the_time_went(run_times), ""]
    lines += ["## Again", "", "```", command, "```", ""]
    return "\n".join(lines)


def curve_lines(terms: Sequence[Curve], facts: Sequence[Curve]) -> list[str]:
    """Return the sections about reward terms and about other facts; a section without curves is left out."""
    lines = []
    for curves, title, noun, picture in (
        (terms, "Reward terms", "term", REWARD_TERMS),
        (facts, "Facts of matches", "fact", FACTS),
    ):
        if curves:
            lines += [f"## {title}", "", f"| {noun} | at the begin | at the end |", "| --- | ---: | ---: |"]
            lines += [f"| {_cell(each.name)} | {each.begin:.4g} | {each.end:.4g} |" for each in curves]
            lines += ["", f"![{title} over training]({picture})", ""]
            lines += [
                "Means of a match and, where a seat has its own, of a learning seat, in the first and the last tenth "
                "of the run.",
                "",
            ]
    return lines


def _cell(text: str) -> str:
    """Return a name from a host as text that cannot end a table's cell or begin HTML."""
    return text.replace("\\", "").replace("|", "\\|").replace("<", "&lt;").replace("`", "'")


def where_the_time_went(run_times: RunTimes) -> list[str]:
    """Return a table of all activities and the line that names the bottleneck."""
    lines = ["| process | activity | share | mean | p50 | p95 |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    for line in run_times.times.lines():
        cells = (line.process, line.part.replace("_", " "), text.percent(line.share, 1))
        spans = (text.span(ms) for ms in (line.mean_ms, line.p50_ms, line.p95_ms))
        lines.append(f"| {' | '.join((*cells, *spans))} |")
    sentence = bottleneck.of_times(
        run_times.times, hosts=run_times.hosts, cores=run_times.cores, actors=run_times.actors
    )
    return [
        *([sentence, ""] if sentence else []),
        *lines,
        "",
        "Shares of each process sum to 100% of its own wall-clock, waiting included; of several hosts to that of all. "
        "Mean, p50 and p95 are of one pass.",
    ]


def table(scores: Sequence[Score]) -> list[str]:
    """Return the lines of a Markdown table of win rates with their intervals."""
    if any(score.opponent == ALONE for score in scores):
        return _returns(scores)
    lines = [
        "| opponent | win rate | 95% interval | won | lost | tied | matches |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for score in scores:
        low, high = wilson(score.wins, score.matches)
        rate = score.wins / score.matches if score.matches else math.nan
        interval = f"{text.percent(low, 1)} to {text.percent(high, 1)}"
        cells = (score.opponent, text.percent(rate, 1), interval, score.wins, score.losses, score.ties, score.matches)
        lines.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    return lines


def rating_lines(history: Sequence[Evaluation]) -> list[str]:
    """Return the lines about the rating of a run and of its opponents; empty if it cannot be rated."""
    ratings = rate_run(history)
    if ratings is None:
        return []
    lines = ["## Rating", "", "| | Elo | 95% interval |", "| --- | ---: | ---: |"]
    policies = [("this run", ratings.evaluations[-1]), *ratings.opponents.items()]
    for name, policy in sorted(policies, key=lambda each: -each[1].elo):
        interval = "by definition" if name == ratings.anchor else f"{policy.low:.0f} to {policy.high:.0f}"
        lines.append(f"| {name} | {policy.elo:.0f} | {interval} |")
    return [*lines, "", f"![Rating over training]({RATING_CURVE})", ""]


def opponent_lines(line: OpponentLine | None) -> list[str]:
    """Return the lines about the opponents of the latest training matches; empty without any."""
    if line is None or not line.opponents:
        return []
    lines = [
        "## Opponents in training",
        "",
        f"At update {line.updates:,}, self-play was {text.percent(line.self_play)}.",
    ]
    lines += [
        "",
        "| opponent | share | matches | win rate | Elo, to the learner |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for each in line.opponents[:MOST_OPPONENTS]:
        elo = f"{each.elo:+.0f} ±{Z_95 * each.elo_error:.0f}"
        cells = (each.name, text.percent(each.share, 1), f"{each.matches:,}", text.percent(each.win_rate, 1), elo)
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _returns(scores: Sequence[Score]) -> list[str]:
    """Return the lines of a table of mean returns, with win rates if matches can be won."""
    decided = any(score.wins or score.losses for score in scores)
    head = "| win rate | 95% interval | won | lost " if decided else ""
    lines = [f"{head}| return, mean | 95% interval | matches |", "| ---: " * (7 if decided else 3) + "|"]
    for score in scores:
        low, high = score.reward_interval
        share = score.wins / max(score.matches, 1)
        interval = " to ".join(text.percent(end, 1) for end in wilson(score.wins, score.matches))
        won = f"| {text.percent(share, 1)} | {interval} | {score.wins} | {score.losses} " if decided else ""
        lines.append(f"{won}| {score.reward:.2f} | {low:.2f} to {high:.2f} | {score.matches} |")
    return lines


def _run_rows(numbers: Figures) -> list[tuple[str, str]]:
    def total(name: str) -> str:
        return f"{numbers.counters.get(name, 0):,.0f}"

    failures = numbers.counters.get(names.TELEMETRY_FAILURES, 0)
    rows = [
        ("training time", text.duration(numbers.training_s)),
        ("decisions", total(names.DECISIONS)),
        ("decisions learned from", total(names.LEARNED)),
        ("decisions/s", text.count(numbers.decisions_per_s)),
        ("matches", total(names.MATCHES)),
        ("matches/hour", text.count(numbers.matches_per_hour)),
        ("updates", total(names.UPDATES)),
        ("skipped updates", total(names.SKIPPED)),
        ("truncated matches", total(names.TRUNCATED)),
        ("voided matches", total(names.VOIDED)),
        ("host restarts", total(names.HOSTS_RESTARTS)),
        ("actor restarts", total(names.ACTOR_RESTARTS)),
        *([("telemetry that could not be written", total(names.TELEMETRY_FAILURES))] if failures else []),
    ]
    if names.SERVERS_RESTARTS in numbers.counters:
        rows.append(("server restarts", total(names.SERVERS_RESTARTS)))
    return rows


def _float(value: str) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
