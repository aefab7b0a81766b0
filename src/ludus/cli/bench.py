"""`ludus bench`: how fast this machine plays."""

from __future__ import annotations

import shlex
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ludus.cli import bench_serve, scale_options, scale_plan, scale_result, scale_trials
from ludus.cli.renamed import renamed_option
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


app.command("serve")(bench_serve.bench_serve)


@app.command("scale")
def scale(
    game: scale_options.Game = None,
    hosts: scale_options.Hosts = None,
    matches: scale_options.Matches = None,
    servers: scale_options.Servers = None,
    sets: scale_options.Sets = None,
    policy: scale_options.Policy = None,
    repeats: scale_options.Repeats = None,
    budget: scale_options.Budget = None,
    min_matches: scale_options.MinMatches = None,
    old_min_matches: scale_options.OldMinMatches = None,
    out: scale_options.Out = None,
    resume: scale_options.Resume = False,
    apply: scale_options.Apply = None,
) -> None:
    """Run a grid search over hosts, concurrent matches and servers, and report the speed of each combination.

    Ctrl-C keeps the finished trials; --resume runs the remaining ones.

    Example: [bold]ludus bench scale --game showdown --hosts 1,2 --matches 16,64 --budget 2m --apply my.yaml[/bold]
    """
    places.check_folder(out or FOLDER, "--out")
    if apply is not None:
        places.check_file(apply, "--apply")
    from rich.console import Console

    from ludus.config.folders import new_run_dir
    from ludus.config.validation import check
    from ludus.diagnostics import scaling_report, study
    from ludus.games import command_parts, registry

    if old_min_matches is not None:
        renamed_option("--asked", "--min-matches")
        min_matches = min_matches or old_min_matches
    console = Console()
    words = ScaleArguments(game, hosts, matches, sets or [], policy, repeats, budget, min_matches, servers)
    folder, state = _begin(words, out) if not resume else _resumed(words, out)
    if apply is not None:
        scale_result.check_target(apply, state.plan.game)
    game_plugin = registry.load(state.plan.game)
    options = check(state.plan.options, game_plugin.options, "options")
    command_parts.install(game_plugin, options, console)
    folder = folder or new_run_dir(FOLDER, state.plan.game, date.today())
    study.write(folder, state)
    finished = scale_trials.play(state, folder, game_plugin, options, console)
    page = scaling_report.write(folder, state, scale_result.again(state.plan))
    scale_result.say(console, state)
    console.print(f"Report: {page}, beside it {scale_result.files(folder)}.", highlight=False, soft_wrap=True)
    if not finished:
        _leave(console, state, folder, apply)
    _conclude(console, state, page, apply)


def _begin(arguments: ScaleArguments, out: Path | None) -> tuple[Path | None, Study]:
    """Return a benchmark without trials, and its folder (None if the folder does not exist yet)."""
    from ludus.diagnostics import study
    from ludus.diagnostics.usage import gpu_names
    from ludus.games import registry, trust

    plan = scale_plan.make(None, arguments)
    trust.remember(registry.load(plan.game), plan.options)
    if out is not None and (out / study.JSON).exists() and study.read(out).trials:
        raise ConfigError(f"{out} already holds a benchmark; add --resume to continue it, or choose another --out")
    return out, study.Study(plan, study.this_machine(gpu_names()), [])


def _resumed(arguments: ScaleArguments, out: Path | None) -> tuple[Path, Study]:
    """Return the benchmark in a folder. Raises ConfigError if its settings or its machine differ."""
    from ludus.diagnostics import study
    from ludus.diagnostics.usage import gpu_names

    folder = _to_resume(out)
    earlier = study.read(folder)
    study.check_same(earlier, scale_plan.make(earlier.plan, arguments), study.this_machine(gpu_names()), folder)
    return folder, earlier


def _to_resume(out: Path | None) -> Path:
    from ludus.diagnostics.study import JSON

    if out is not None:
        return out
    paths = sorted(FOLDER.glob(f"*/{JSON}"), key=lambda path: path.stat().st_mtime)
    if not paths:
        raise ConfigError(f"no benchmark to resume in {FOLDER}; give its folder: --out D --resume")
    return paths[-1].parent


def _leave(console: Console, state: Study, folder: Path, apply: Path | None) -> None:
    from ludus.cli.train import INTERRUPTED

    resuming = ["ludus", "bench", "scale", "--resume", "--out", str(folder)]
    resuming += [] if apply is None else ["--apply", str(apply)]
    console.print(
        f"Interrupted: {len(state.trials)} of {len(state.plan.order)} trials are kept in {folder}; continue with: "
        f"{shlex.join(resuming)}",
        highlight=False,
        soft_wrap=True,
    )
    raise typer.Exit(INTERRUPTED)


def _conclude(console: Console, state: Study, page: Path, apply: Path | None) -> None:
    """Write the best fleet size into the file of --apply. Raises FleetError if every trial failed."""
    from ludus.diagnostics import scaling

    verdict = scaling.judge(scaling.summarise(state.plan, state.trials))
    if verdict is None:
        raise FleetError(f"no trial succeeded; {page} has the reasons")
    if apply is not None:
        for line in scale_result.apply_best(apply, verdict):
            console.print(line, highlight=False, soft_wrap=True)
