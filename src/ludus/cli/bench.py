"""`ludus bench`: how fast this machine plays."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ludus.cli import scale_plan
from ludus.cli.scale_plan import ASKED, REPEATS, Asked
from ludus.errors import ConfigError, FleetError

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.diagnostics.scaling import Plan, Verdict
    from ludus.diagnostics.study import Study
    from ludus.games.registry import Game
    from ludus.spec import GameSpec
    from ludus.types import Policy

FOLDER = Path("scaling")
LOGS, LOG = "logs", "scaling.log"
REDRAW_S = 0.2

app = typer.Typer(
    help="Measure how fast this machine plays.", no_args_is_help=True, rich_markup_mode="rich", add_completion=False
)


@app.callback()
def bench() -> None:
    """Measure how fast this machine plays."""


@app.command("scale")
def scale(
    game: Annotated[
        str | None,
        typer.Option(metavar="G", help="Default: that of the checkpoint, else showdown.", show_default=False),
    ] = None,
    hosts: Annotated[
        str | None,
        typer.Option(metavar="1,2,4", help="Hosts to try. Default: 1, 2, 4 .. cores.", show_default=False),
    ] = None,
    matches: Annotated[
        str | None,
        typer.Option(metavar="4,16,64", help="Matches at once on each host. Default: 4,16,64.", show_default=False),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="A.B=VALUE",
            help="Change options.*, fleet.* or seed; may be given several times.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|CHECKPOINT",
            help="A scripted policy of the game, a run's folder or a checkpoint. Default: random.",
            show_default=False,
        ),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help=f"Of every cell, interleaved. Default: {REPEATS}.", show_default=False)
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="10m", help="Of all turns together: 90s, 10m, 1h30m. Default: 5m.", show_default=False),
    ] = None,
    asked: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Matches that must end for each at once, else the turn has timed out. Default: 1.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="D", help="Folder of the results. Default: scaling/<game>-<date>-<n>.", show_default=False
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the benchmark in --out, or with the latest one.", show_default=False),
    ] = False,
    apply: Annotated[
        Path | None,
        typer.Option(
            metavar="CONFIG", help="Write hosts and matches of the best cell into this YAML file.", show_default=False
        ),
    ] = None,
) -> None:
    """Play every setting of hosts and matches, and say how speed grows with them.

    Ctrl-C keeps the turns played so far; --resume goes on with the rest.

    Example: [bold]ludus bench scale --game showdown --hosts 1,2 --matches 16,64 --budget 2m --apply my.yaml[/bold]
    """
    from rich.console import Console

    from ludus.cli import prepare
    from ludus.cli.train import INTERRUPTED, new_run_dir
    from ludus.config.check import check
    from ludus.diagnostics import scaling, scaling_report, study
    from ludus.diagnostics.usage import gpu_names
    from ludus.games import registry

    console = Console()
    folder = _to_resume(out) if resume else out
    found = study.read(folder) if resume and folder is not None else None
    plan = scale_plan.make(
        None if found is None else found.plan,
        Asked(game, hosts, matches, sets or [], policy, repeats, budget, asked),
    )
    machine = study.this_machine(gpu_names())
    if found is not None and folder is not None:
        study.check_same(found, plan, machine, folder)
    elif folder is not None and (folder / study.JSON).exists() and study.read(folder).turns:
        raise ConfigError(f"{folder} already holds a benchmark; add --resume to go on with it, or choose another --out")
    if apply is not None:
        _check_target(apply, plan.game)
    chosen = registry.load(plan.game)
    options = check(plan.options, chosen.options, "options")
    prepare.install(chosen, options, console)
    folder = folder or new_run_dir(FOLDER, plan.game, date.today())
    state = found or study.Study(plan, machine, [])
    study.write(folder, state)
    finished = _measure(state, folder, chosen, options, console)
    page = scaling_report.write(folder, state, again(plan))
    _say(console, state)
    console.print(f"Report: {page}, beside it {_files(folder)}.", highlight=False, soft_wrap=True)
    if not finished:
        resuming = ["ludus", "bench", "scale", "--resume", "--out", str(folder)]
        resuming += [] if apply is None else ["--apply", str(apply)]
        console.print(
            f"Interrupted: {len(state.turns)} of {len(plan.order)} turns are kept in {folder}; go on with: "
            f"{shlex.join(resuming)}",
            highlight=False,
            soft_wrap=True,
        )
        raise typer.Exit(INTERRUPTED)
    verdict = scaling.judge(scaling.summarise(plan, state.turns))
    if verdict is None:
        raise FleetError(f"no cell could be played; {page} has the reasons")
    if apply is not None:
        for line in apply_best(apply, verdict):
            console.print(line, highlight=False, soft_wrap=True)


def _policy_of(name: str, game: Game) -> Callable[[GameSpec, int], Policy]:
    if name in game.scripted:
        return game.scripted[name]

    def load(spec: GameSpec, seed: int) -> Policy:
        import torch  # only here: scripted policies do without

        from ludus.policies import checkpoint

        torch.set_num_threads(checkpoint.read_state(Path(name)).policy.threads)
        return checkpoint.load_agent(Path(name), spec, greedy=False, seed=seed)

    return load


def _to_resume(out: Path | None) -> Path:
    from ludus.diagnostics.study import JSON

    if out is not None:
        return out
    found = sorted(FOLDER.glob(f"*/{JSON}"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise ConfigError(f"no benchmark to resume in {FOLDER}; say which: --out D --resume")
    return found[-1].parent


def _measure(state: Study, folder: Path, game: Game, options: msgspec.Struct, console: Console) -> bool:
    """Play what is missing and write it down after every turn. False: interrupted."""
    from ludus.diagnostics import measure, scaling, scaling_report, study
    from ludus.metrics.exporters.log import logging_to

    plan = state.plan
    left = scaling.missing(plan, state.turns)
    rest = f", {len(left)} of them are left" if state.turns else ""
    console.print(
        f"{plan.title}, policy {plan.policy}: {len(plan.order)} turns of {plan.turn_s:.1f} s "
        f"(cells: {len(plan.cells)}, repeats: {plan.repeats}){rest}",
        highlight=False,
        soft_wrap=True,
    )
    try:
        with logging_to(folder / LOG), _bar(console, state) as show:
            for repeat, cell in left:
                show(str(cell), 0.0)
                turn = measure.measure(
                    plan,
                    cell,
                    repeat,
                    game=game,
                    options=options,
                    policy_of=_policy_of(plan.policy, game),
                    log_dir=folder / LOGS / f"{cell.hosts}x{cell.matches}-{repeat + 1}",
                    gpus=state.machine.gpus,
                    tick=partial(show, str(cell)),
                )
                state.turns.append(turn)
                study.write(folder, state)
                console.print(scaling_report.turn_line(turn), highlight=False, markup=False, soft_wrap=True)
    except KeyboardInterrupt:
        study.write(folder, state)  # it may have come between a turn and its file
        return False
    return True


@contextmanager
def _bar(console: Console, state: Study) -> Iterator[Callable[[str, float], None]]:
    """A progress bar on a terminal, nothing elsewhere. Drawn as the fleet is played, by no thread of its own."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    from ludus.diagnostics.scaling import left_s
    from ludus.metrics.exporters.text import duration

    plan = state.plan
    columns = (
        TextColumn("{task.description:<16}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("turn {task.fields[turn]}, {task.fields[left]} left"),
    )
    bar = Progress(*columns, console=console, transient=True, auto_refresh=False, disable=not console.is_terminal)
    with bar:
        task = bar.add_task("", total=plan.budget_s, turn="-", left="-")
        drawn_s = 0.0

        def show(cell: str, played_s: float) -> None:
            nonlocal drawn_s
            if played_s and time.monotonic() - drawn_s < REDRAW_S:
                return
            drawn_s = time.monotonic()
            bar.update(
                task,
                completed=len(state.turns) * plan.turn_s + played_s,
                description=cell,
                turn=f"{len(state.turns) + 1}/{len(plan.order)}",
                left=duration(left_s(plan, state.turns, played_s)),
            )
            bar.refresh()

        yield show


def _say(console: Console, state: Study) -> None:
    from rich.table import Table

    from ludus.diagnostics import scaling_report

    for each in scaling_report.tables(state):
        table = Table(
            title=each.title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="bold"
        )
        for column in each.columns:
            table.add_column(column, justify="right")
        for row in each.rows:
            table.add_row(*row)
        console.print()
        console.print(table)
    console.print()
    if not state.machine.gpus:
        console.print("No GPU: nvidia-smi finds none.", highlight=False)
    for line in scaling_report.verdict_lines(state):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _files(folder: Path) -> str:
    from ludus.diagnostics.scaling_report import PICTURE
    from ludus.diagnostics.study import CSV, JSON

    return ", ".join(name for name in (CSV, JSON, PICTURE) if (folder / name).exists())


def again(plan: Plan) -> str:
    """The command that plays the same plan."""
    from ludus.config.schema import FleetConfig
    from ludus.games import registry

    sets = _changed("options", plan.options, registry.load(plan.game).options)
    sets += _changed("fleet", plan.fleet, FleetConfig)
    sets += [f"seed={plan.seed}"] if plan.seed != 1 else []
    words = ["ludus", "bench", "scale", "--game", plan.game, "--hosts", _listed(plan.hosts)]
    words += ["--matches", _listed(plan.matches), *(word for each in sets for word in ("--set", each))]
    words += ["--policy", plan.policy, "--repeats", str(plan.repeats), "--budget", f"{plan.budget_s:g}s"]
    return shlex.join([*words, *(("--asked", str(plan.asked)) if plan.asked != ASKED else ())])


def _changed(section: str, values: Mapping[str, object], struct: type[msgspec.Struct]) -> list[str]:
    """What differs from the defaults, as --set takes it."""
    usual = {field.encode_name: field.default for field in msgspec.structs.fields(struct)}
    return [
        f"{section}.{name}={value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for name, value in values.items()
        if usual.get(name) != value
    ]


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(str(number) for number in numbers)


def _check_target(path: Path, game: str) -> None:
    """Before anything is measured: can the result be written there?"""
    from ludus.cli import prepare
    from ludus.config import load

    config = load.load(path, options_of=prepare.options_of)
    if config.game != game:
        raise ConfigError(f"--apply: {path} is for {config.game}, this measures {game}")
    if not os.access(path, os.W_OK):
        raise ConfigError(f"--apply: {path} cannot be written")


def apply_best(path: Path, verdict: Verdict) -> list[str]:
    """Write the best cell into a configuration; says what was changed."""
    from ludus.config import edit, load

    before = load.read(path).get("fleet") or {}
    values = {"hosts": verdict.best.hosts, "matches": verdict.best.matches}
    changed = edit.put(path.read_text(encoding="utf-8"), "fleet", values, str(path))
    partial = path.with_name(path.name + ".partial")
    partial.write_text(changed, encoding="utf-8")
    os.replace(partial, path)
    return [
        f"{path}: fleet.{name} is {value} (as before)"
        if before.get(name) == value
        else f"{path}: fleet.{name} is {value} now, it was {before.get(name, 'not set')}"
        for name, value in values.items()
    ]
