"""The live table. It fits a terminal of 80 columns and 24 lines and shows more on a larger one."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ludus.metrics import names
from ludus.metrics.exporters import text
from ludus.metrics.exporters.log import LOGGER
from ludus.metrics.observer import ALONE, Numbers, Result
from ludus.metrics.times import ACTOR, HOSTS, LEARNER

WIDE = 110  # number of columns from which the bars are longer
WIDEST = 120  # most columns used, so that values stay close to their labels
DURATIONS = {"mean": names.MEAN_MS, "p50": names.P50_MS, "p95": names.P95_MS}
STYLES = {HOSTS: "cyan", ACTOR: "magenta", LEARNER: "yellow"}
Row = tuple[str, str, str]  # label, value, style
GameLines = Callable[[Numbers], Sequence[tuple[str, str]]]  # label, value


class LiveTable:
    """Shows the latest numbers and leaves them on the screen when closed. Warnings appear above the table."""

    def __init__(self, title: str, console: Console | None = None, game_lines: GameLines = lambda numbers: ()) -> None:
        """`game_lines` returns the lines that the game adds to the matches."""
        self._console = console or Console()
        self._screen = Screen(title, game_lines)
        # Redrawn when numbers arrive: a refresh thread would take time from the matches.
        self._live = Live(self._screen, console=self._console, auto_refresh=False, vertical_overflow="crop")
        self._warnings = _Warnings(self._console)

    def on_progress(self, numbers: Numbers) -> None:
        self._screen.numbers = {**self._screen.numbers, **numbers}
        self._live.refresh()

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        self._screen.results = results
        self._screen.evaluated_s = text.number(self._screen.numbers, names.TRAINING_S)
        self._screen.final = final
        self._live.refresh()

    def __enter__(self) -> LiveTable:
        self._live.start(refresh=True)
        logging.getLogger(LOGGER).addHandler(self._warnings)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logging.getLogger(LOGGER).removeHandler(self._warnings)
        self._live.stop()


class Screen:
    """The content of the live table, laid out for the size of the console."""

    def __init__(self, title: str, game_lines: GameLines = lambda numbers: ()) -> None:
        self.title = title
        self._game_lines = game_lines
        self.numbers: Numbers = {}
        self.results: Sequence[Result] = ()
        self.evaluated_s = math.nan
        self.final = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(options.max_width, WIDEST)
        blocks = (_speed(self.numbers), _learning(self.numbers), _matches(self.numbers, self._game_lines(self.numbers)))
        fixed = 4 + max(len(block) for block in blocks) + 4  # title, bar, gaps, block titles, the last line
        height = max(3, (options.height or console.height) - fixed)
        screen = Group(
            self._title(),
            _budget(self.numbers),
            _under_way(self.numbers),
            _columns(("Speed", "Learning", "Matches"), [_pairs(block) for block in blocks]),
            Text(),
            _columns(
                (self._win_rate_title(), "Time"),
                [
                    _win_rates(self.results, self.numbers, height, width),
                    _activities(self.numbers, height, width),
                ],
                ratios=(9, 10),
            ),
            Text(text.bottleneck(self.numbers), style="cyan", no_wrap=True, overflow="ellipsis"),
        )
        yield Constrain(screen, width)

    def _title(self) -> Text:
        return Text.assemble(("ludus  ", "bold cyan"), (self.title, "bold"), no_wrap=True, overflow="ellipsis")

    def _win_rate_title(self) -> str:
        what = "Return" if any(result.opponent == ALONE for result in self.results) else "Wins"
        if self.final:
            what = f"{what}, final"
        elif self.results:
            what = f"{what} at {text.duration(self.evaluated_s)}"
        rating = text.elo(self.numbers)
        return f"{what}, {rating}" if rating else what


def _budget(numbers: Numbers) -> RenderableType:
    """Return the progress bar of the budget. Its text has a fixed width, so that the bar does not move."""
    done = text.number(numbers, names.PROGRESS)
    phase = str(numbers.get(names.PHASE, "starting hosts"))
    remaining = text.duration(text.number(numbers, names.ETA_S))
    trained = text.duration(text.number(numbers, names.TRAINING_S))
    words = Text.assemble(
        (f" {text.percent(done):>4}  ", "bold"),
        f"{trained} trained, {remaining} left  ",
        (f"{phase:<10}", "cyan"),
        no_wrap=True,
    )
    row = Table.grid(expand=True)
    row.add_column(ratio=1)
    row.add_column(no_wrap=True, width=words.cell_len)
    row.add_row(ProgressBar(total=1.0, completed=0.0 if math.isnan(done) else done, width=None), words)
    return row


def _under_way(numbers: Numbers) -> RenderableType:
    """Return a line with the curriculum's stage and the progress of a running evaluation."""
    row = Table.grid(expand=True)
    row.add_column(ratio=1, no_wrap=True)
    row.add_column(justify="right", no_wrap=True)
    row.add_row(*(Text(words, style="cyan", no_wrap=True) for words in (text.stage(numbers), text.evaluated(numbers))))
    return row


def _speed(numbers: Numbers) -> list[Row]:
    return [
        _row("decisions/s", numbers, names.DECISIONS_PER_S, text.count, "bold"),
        _row("matches/hour", numbers, names.MATCHES_PER_HOUR, text.count),
        _row("updates/s", numbers, names.UPDATES_PER_S, text.decimal),
        _row("lag", numbers, names.LAG, text.decimal),
        _row("decisions", numbers, names.DECISIONS, text.count),
        _row("matches", numbers, names.MATCHES, text.count),
        _row("updates", numbers, names.UPDATES, text.count),
    ]


def _learning(numbers: Numbers) -> list[Row]:
    return [
        _row("policy loss", numbers, names.LOSS_POLICY, text.decimal),
        _row("value loss", numbers, names.LOSS_VALUE, text.decimal),
        _row("entropy", numbers, names.ENTROPY, text.decimal),
        _row("KL", numbers, names.KL, text.decimal),
        _row("explained var.", numbers, names.EXPLAINED_VARIANCE, text.decimal),
        _row("learning rate", numbers, names.LR, text.decimal),
        _row("skipped updates", numbers, names.SKIPPED, text.count, alarm=True),
        *([_row("opponents' Elo", numbers, names.OPPONENT_ELO, _signed)] if names.OPPONENT_ELO in numbers else []),
    ]


def _signed(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:+.0f}"


def _matches(numbers: Numbers, game_lines: Sequence[tuple[str, str]]) -> list[Row]:
    alive, total = (text.number(numbers, name) for name in (names.HOSTS_ALIVE, names.HOSTS_TOTAL))
    rows = [
        ("hosts alive", f"{text.count(alive)} of {text.count(total)}", "bold red" if alive < total else ""),
        *_actors(numbers),
        *_nodes(numbers),
        _row("restarts", numbers, names.HOSTS_RESTARTS, text.count, alarm=True),
        _row("voided", numbers, names.VOIDED, text.count, alarm=True),
        _row("truncated", numbers, names.TRUNCATED, text.count),
        _row("length", numbers, names.LENGTH, text.decimal),
        _row("reward", numbers, names.REWARD, text.decimal),
    ]
    if game_lines:
        rows += [(label, value, "") for label, value in game_lines]
    else:
        rows.append(_row("past selves", numbers, names.POOL, text.count))
    return rows + _servers(numbers)


def _actors(numbers: Numbers) -> list[Row]:
    """Return the row about the actors of a run with several: how many play, and the lowest and highest busy share."""
    playing, total = (text.number(numbers, name) for name in (names.ACTORS_PLAYING, names.ACTORS_TOTAL))
    if not total > 1:
        return []
    shares = [text.number(numbers, name) for name in numbers if names.ACTOR_BUSY.end(name) is not None]
    busy = f", {text.percent(min(shares))} to {text.percent(max(shares))} busy" if shares else ""
    return [("actors", f"{text.count(playing)} of {text.count(total)}{busy}", "bold red" if playing < total else "")]


def _nodes(numbers: Numbers) -> list[Row]:
    """Return the row about the nodes of a cluster, if the run plays on one."""
    if names.NODES_TOTAL not in numbers:
        return []
    alive, total, refused = (
        text.number(numbers, name) for name in (names.NODES_ALIVE, names.NODES_TOTAL, names.NODES_REFUSED)
    )
    others = f", {text.count(refused)} refused" if refused > 0 else ""
    return [("nodes", f"{text.count(alive)} of {text.count(total)}{others}", "bold red" if alive < total else "")]


def _servers(numbers: Numbers) -> list[Row]:
    """Return the rows about game servers, if the run has started some."""
    if names.SERVERS_TOTAL not in numbers:
        return []
    alive, total = (text.number(numbers, name) for name in (names.SERVERS_ALIVE, names.SERVERS_TOTAL))
    restarts, recycled = (text.number(numbers, name) for name in (names.SERVERS_RESTARTS, names.SERVERS_RECYCLED))
    size = f"{text.number(numbers, names.SERVERS_MIB) / 1024:.1f} GiB"
    return [
        ("servers", f"{text.count(alive)} of {text.count(total)}, {size}", "bold red" if alive < total else ""),
        (
            "restarted",
            f"{text.count(restarts)}, recycled {text.count(recycled)}",
            "bold red" if restarts > 0 else "",
        ),
    ]


def _row(
    label: str, numbers: Numbers, name: str, words: Callable[[float], str], style: str = "", *, alarm: bool = False
) -> Row:
    """Return a row for a metric. With `alarm`, the value is red unless it is 0."""
    value = text.number(numbers, name)
    if alarm and math.isnan(value):
        value = 0.0
    return label, words(value), "bold red" if alarm and value > 0 else style


def _win_rates(results: Sequence[Result], numbers: Numbers, height: int, width: int) -> RenderableType:
    """Return the win rates of the latest evaluation with their 95% intervals, and those of the training matches."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(max_width=16)
    grid.add_column(no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(justify="right", no_wrap=True, style="dim")
    cells = 20 if width >= WIDE else 8
    lines = 0
    for result in results[:height]:
        if result.opponent == ALONE:
            low, high = result.reward_interval
            spread = f"{text.decimal(low)} to {text.decimal(high)}"
            grid.add_row(_label("earned in a match"), "", text.decimal(result.reward), spread)
            lines += 1
            continue
        low, high = result.interval
        grid.add_row(
            _label(result.opponent),
            _bar(result.win_rate, cells, "green"),
            text.percent(result.win_rate, 1),
            f"{100 * low:.0f}-{100 * high:.0f}",
        )
        lines += 1
    training = sorted((end, name) for name in numbers if (end := names.TRAIN_WIN_RATE.end(name)) is not None)
    for end, name in training[: height - lines]:
        value, share = text.number(numbers, name), text.number(numbers, names.OPPONENT_SHARE(end))
        note = "train" if math.isnan(share) else f"in {text.percent(share)}"
        label = "won" if end == ALONE else f"vs {end}"
        grid.add_row(_label(label), _bar(value, cells, "blue"), text.percent(value, 1), note)
        lines += 1
    if not lines:
        grid.add_row(Text("after the first evaluation", style="dim"))
    return grid


def _activities(numbers: Numbers, height: int, width: int) -> RenderableType:
    """Return the largest activities that fit, in the order of the loop, with their shares and durations."""
    all_shares = ((names.SHARE.end(name), text.number(numbers, name)) for name in names.ordered(numbers))
    shares = {activity: share for activity, share in all_shares if activity is not None and share >= 0.005}
    largest = set(sorted(shares, key=lambda activity: -shares[activity])[: height - 1])
    grid = Table.grid(padding=(0, 1))
    grid.add_column(max_width=20)
    if width >= WIDE:
        grid.add_column(no_wrap=True)
    for _ in ("share", *DURATIONS):
        grid.add_column(justify="right", no_wrap=True)
    if largest:
        heads = ("activity", "" if width >= WIDE else None, "share", *DURATIONS)
        grid.add_row(*(_label(head, "dim") for head in heads if head is not None))
    for activity in (activity for activity in shares if activity in largest):
        process, _, part = activity.partition("/")
        label = Text.assemble((f"{process} ", "dim"), part.replace("_", " "), no_wrap=True, overflow="ellipsis")
        bar = (_bar(shares[activity], 10, STYLES.get(process, "")),) if width >= WIDE else ()
        spans = (text.span(text.number(numbers, family(activity))) for family in DURATIONS.values())
        grid.add_row(label, *bar, text.percent(shares[activity]), *spans)
    return grid


def _bar(share: float, cells: int, style: str) -> Text:
    """Return a bar of fixed width for a share, made of full and half cells."""
    halves = round(2 * cells * min(max(share, 0.0), 1.0)) if math.isfinite(share) else 0
    full, half = divmod(halves, 2)
    return Text.assemble(("━" * full + "╸" * half, style), ("─" * (cells - full - half), "bright_black"))


def _label(words: str, style: str = "") -> Text:
    """Return the text of a label. If there is little room, its column shrinks before that of the value."""
    return Text(words, style=style, no_wrap=True, overflow="ellipsis")


def _pairs(rows: Iterable[Row]) -> RenderableType:
    grid = Table.grid(expand=True)
    grid.add_column()
    grid.add_column(justify="right", no_wrap=True)
    for label, value, style in rows:
        grid.add_row(_label(label, "dim"), Text(value, style=style))
    return grid


def _columns(
    titles: Sequence[str], blocks: Sequence[RenderableType], ratios: Sequence[int] = (1, 1, 1)
) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 3, 0, 0), pad_edge=False)
    for _, ratio in zip(titles, ratios, strict=True):
        grid.add_column(ratio=ratio)
    grid.add_row(*(Text(title, style="bold") for title in titles))
    grid.add_row(*blocks)
    return grid


class _Warnings(logging.Handler):
    """A log handler that prints warnings above the live table, one line each."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.print(Text(record.getMessage(), style="red" if record.levelno >= logging.ERROR else "yellow"))
