"""`ludus bench`: how fast this machine plays."""

from __future__ import annotations

import shlex
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ludus.cli import scale_options as given
from ludus.cli import scale_plan, scale_result, scale_trials
from ludus.cli.scale_plan import ScaleArguments
from ludus.config import places
from ludus.errors import ConfigError, FleetError

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.diagnostics.study import Study

FOLDER = Path("scaling")

app = typer.Typer(
    help="Measure how fast this machine plays.", no_args_is_help=True, rich_markup_mode="rich", add_completion=False
)


@app.callback()
def bench() -> None:
    """Measure how fast this machine plays."""


@app.command("scale")
def scale(
    game: given.Game = None,
    hosts: given.Hosts = None,
    matches: given.Matches = None,
    servers: given.Servers = None,
    sets: given.Sets = None,
    policy: given.Policy = None,
    repeats: given.Repeats = None,
    budget: given.Budget = None,
    asked: given.Ending = None,
    out: given.Out = None,
    resume: given.Resume = False,
    apply: given.Apply = None,
) -> None:
    """Play every setting of hosts, matches and servers, and say how speed grows with them.

    Ctrl-C keeps the turns played so far; --resume goes on with the rest.

    Example: [bold]ludus bench scale --game showdown --hosts 1,2 --matches 16,64 --budget 2m --apply my.yaml[/bold]
    """
    places.check_folder(out or FOLDER, "--out")
    if apply is not None:
        places.check_file(apply, "--apply")
    from rich.console import Console

    from ludus.config.check import check
    from ludus.config.folders import new_run_dir
    from ludus.diagnostics import scaling_report, study
    from ludus.games import command_parts, registry

    console = Console()
    words = ScaleArguments(game, hosts, matches, sets or [], policy, repeats, budget, asked, servers)
    folder, state = _begin(words, out) if not resume else _go_on(words, out)
    if apply is not None:
        scale_result.check_target(apply, state.plan.game)
    chosen = registry.load(state.plan.game)
    options = check(state.plan.options, chosen.options, "options")
    command_parts.install(chosen, options, console)
    folder = folder or new_run_dir(FOLDER, state.plan.game, date.today())
    study.write(folder, state)
    finished = scale_trials.play(state, folder, chosen, options, console)
    page = scaling_report.write(folder, state, scale_result.again(state.plan))
    scale_result.say(console, state)
    console.print(f"Report: {page}, beside it {scale_result.files(folder)}.", highlight=False, soft_wrap=True)
    if not finished:
        _leave(console, state, folder, apply)
    _conclude(console, state, page, apply)


def _begin(asked: ScaleArguments, out: Path | None) -> tuple[Path | None, Study]:
    """A benchmark with nothing played yet. None: its folder is still to be made."""
    from ludus.diagnostics import study
    from ludus.diagnostics.usage import gpu_names
    from ludus.games import registry, trust

    plan = scale_plan.make(None, asked)
    trust.remember(registry.load(plan.game), plan.options)
    if out is not None and (out / study.JSON).exists() and study.read(out).turns:
        raise ConfigError(f"{out} already holds a benchmark; add --resume to go on with it, or choose another --out")
    return out, study.Study(plan, study.this_machine(gpu_names()), [])


def _go_on(asked: ScaleArguments, out: Path | None) -> tuple[Path, Study]:
    """The benchmark in a folder, which must be of what is asked for and of this machine."""
    from ludus.diagnostics import study
    from ludus.diagnostics.usage import gpu_names

    folder = _to_resume(out)
    found = study.read(folder)
    study.check_same(found, scale_plan.make(found.plan, asked), study.this_machine(gpu_names()), folder)
    return folder, found


def _to_resume(out: Path | None) -> Path:
    from ludus.diagnostics.study import JSON

    if out is not None:
        return out
    found = sorted(FOLDER.glob(f"*/{JSON}"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise ConfigError(f"no benchmark to resume in {FOLDER}; say which: --out D --resume")
    return found[-1].parent


def _leave(console: Console, state: Study, folder: Path, apply: Path | None) -> None:
    from ludus.cli.train import INTERRUPTED

    resuming = ["ludus", "bench", "scale", "--resume", "--out", str(folder)]
    resuming += [] if apply is None else ["--apply", str(apply)]
    console.print(
        f"Interrupted: {len(state.turns)} of {len(state.plan.order)} turns are kept in {folder}; go on with: "
        f"{shlex.join(resuming)}",
        highlight=False,
        soft_wrap=True,
    )
    raise typer.Exit(INTERRUPTED)


def _conclude(console: Console, state: Study, page: Path, apply: Path | None) -> None:
    """Write the best cell where it was asked for; nothing played at all is an error."""
    from ludus.diagnostics import scaling

    verdict = scaling.judge(scaling.summarise(state.plan, state.turns))
    if verdict is None:
        raise FleetError(f"no cell could be played; {page} has the reasons")
    if apply is not None:
        for line in scale_result.apply_best(apply, verdict):
            console.print(line, highlight=False, soft_wrap=True)
