"""`ludus ablate`: what each term of a reward is worth."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.cli import tables
from ludus.cli.train import INTERRUPTED, GameOption, SetOption
from ludus.cli.trial_bar import trial_bar
from ludus.config import places
from ludus.errors import ConfigError, TrainingError

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.actors.resolved import ResolvedRun
    from ludus.diagnostics.ablation import Ablation, AblationPlan, Training

FOLDER = Path("ablations")
MINUTES, SEEDS, MOST_SEEDS = 5.0, 3, 100
EVALUATION_MINUTES = 1.0  # expected, of the start and the evaluations of one training

ConfigArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="CONFIG",
        help="A preset (see `ludus games`) or a YAML file whose game has named reward terms.",
        show_default=False,
    ),
]
TermsOption = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Terms to leave out, one at a time. Default: each term.", show_default=False),
]
MinutesOption = Annotated[
    float | None,
    typer.Option(min=0.0, help=f"Training time of each training. Default: {MINUTES:g}.", show_default=False),
]
UpdatesOption = Annotated[
    int | None, typer.Option(min=1, help="Updates of each training, instead of minutes.", show_default=False)
]
SeedsOption = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_SEEDS, help=f"Seeds of each variant. Default: {SEEDS}.", show_default=False),
]
SaveOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Folder for the results. Default: ablations/<config>-<date>-<n>.", show_default=False
    ),
]
ResumeOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Continue the ablation in this folder; its trainings are kept.", show_default=False
    ),
]


@dataclass(frozen=True, slots=True)
class AblateArguments:
    config: str | None
    game: str | None
    sets: tuple[str, ...]
    terms: str | None
    minutes: float | None
    updates: int | None
    seeds: int | None
    save: Path | None

    def refuse_beside_resume(self) -> None:
        """Raise ConfigError if an option is given that a resumed ablation keeps."""
        plan_options = {
            **{"CONFIG": self.config, "--game": self.game, "--set": self.sets, "--terms": self.terms},
            **{"--minutes": self.minutes, "--updates": self.updates, "--seeds": self.seeds, "--save": self.save},
        }
        if names := [name for name, value in plan_options.items() if value]:
            raise ConfigError(f"--resume: keeps the plan of the ablation; leave out {', '.join(names)}")


def ablate(
    config: ConfigArgument = None,
    game: GameOption = None,
    sets: SetOption = None,
    terms: TermsOption = None,
    minutes: MinutesOption = None,
    updates: UpdatesOption = None,
    seeds: SeedsOption = None,
    save: SaveOption = None,
    resume: ResumeOption = None,
) -> None:
    """Find out what each term of a reward is worth: train with all of them, and without each.

    Trains one variant after the other with the same seeds, and compares their final evaluations and their behaviour.
    Ctrl-C shows what is known so far; --resume continues. Only for games whose reward has named terms.

    Example: [bold]ludus ablate rocket --terms touch_strength,speed_to_ball --minutes 5 --seeds 3[/bold]
    """
    places.check_folder(save or FOLDER, "--save")
    from rich.console import Console

    console = Console()
    arguments = AblateArguments(config, game, tuple(sets or ()), terms, minutes, updates, seeds, save)
    try:
        folder, state = _begin(arguments, console) if resume is None else _resumed(resume, arguments, console)
    except KeyboardInterrupt:
        typer.echo("ludus: interrupted before anything was trained", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finished = _train_all(console, folder, state)
    _conclude(console, folder, state, finished=finished)


def _begin(arguments: AblateArguments, console: Console) -> tuple[Path, Ablation]:
    """Plan a new ablation: check the settings of all variants, and save the plan."""
    import msgspec

    from ludus.api import settings_source
    from ludus.config import familiar
    from ludus.config.folders import new_run_dir
    from ludus.diagnostics import ablated_settings, ablation
    from ludus.games import command_parts, trust

    if arguments.config is not None and arguments.game is not None:
        raise ConfigError(f"--game: cannot be combined with {arguments.config}; leave out one of the two")
    if arguments.minutes is not None and arguments.updates is not None:
        raise ConfigError("--minutes: cannot be combined with --updates; leave out one of the two")
    if arguments.save is not None and (arguments.save / ablation.JSON).exists():
        raise ConfigError(f"--save: {arguments.save} already holds an ablation; continue it with --resume")
    source = settings_source.of(arguments.config) if arguments.game is None else settings_source.of_game(arguments.game)
    minutes = 0.0 if arguments.updates else arguments.minutes or MINUTES
    budget = (f"budget.minutes={minutes}", f"budget.updates={arguments.updates or 0}", "budget.decisions=0")
    run = settings_source.resolved(source, (*arguments.sets, *budget))
    plan = ablation.AblationPlan(
        name=source.name,
        title=familiar.title(run.config),
        settings=msgspec.to_builtins(run.config),
        terms=tuple(ablated_settings.chosen_terms(run, arguments.terms)),
        seeds=tuple(run.config.seed + number for number in range(arguments.seeds or SEEDS)),
        minutes=minutes,
        updates=arguments.updates or 0,
    )
    _check_variants(run, plan)
    command_parts.install(run.game, run.options, console)
    trust.remember(run.game, run.config.options)
    folder, state = arguments.save or new_run_dir(FOLDER, source.name, date.today()), ablation.Ablation(plan=plan)
    ablation.write(folder / ablation.JSON, state)
    each = f"{minutes:g} minutes" if minutes else f"{plan.updates} updates"
    console.print(
        f"{plan.title}: {len(plan.trainings)} trainings of {each}: with all terms and without {', '.join(plan.terms)}, "
        f"{len(plan.seeds)} seeds each. Results: {folder}",
        highlight=False,
        markup=False,
    )
    return folder, state


def _resumed(folder: Path, arguments: AblateArguments, console: Console) -> tuple[Path, Ablation]:
    from ludus.api import settings_source
    from ludus.diagnostics import ablated_settings, ablation
    from ludus.games import command_parts

    arguments.refuse_beside_resume()
    state = ablation.read(folder)
    run = settings_source.resolved(settings_source.Source(state.plan.name, None, state.plan.settings, False), ())
    settings_source.refuse_untrusted(run, (), str(folder / ablation.JSON))
    ablated_settings.chosen_terms(run, ",".join(state.plan.terms))  # names from the file become names of folders
    _check_variants(run, state.plan)
    command_parts.install(run.game, run.options, console)
    state.outcomes = [each for each in state.outcomes if not each.failure]  # those that failed are tried again
    return folder, state


def _check_variants(run: ResolvedRun, plan: AblationPlan) -> None:
    """Raise ConfigError, before anything is trained, for a variant that cannot be."""
    from ludus.actors.resolved import resolve
    from ludus.diagnostics import ablated_settings

    for term in plan.terms:
        resolve(ablated_settings.without(run, [term]))


def _train_all(console: Console, folder: Path, state: Ablation) -> bool:
    """Train what is due, and save each outcome. Returns False if interrupted."""
    from ludus.actors.resolved import resolve
    from ludus.diagnostics import ablated_settings, ablation, ablation_training
    from ludus.processes import interrupts

    plan, run = state.plan, resolve(state.plan.settings)
    try:
        with interrupts.handled() as interrupted, interrupted.raised(), _bar(console, state) as begin:
            for number, training in enumerate(state.due()):
                left_out = [training.without] if training.without else []
                settings = {**ablated_settings.without(run, left_out), "seed": training.seed}
                place = folder / "trainings" / f"{training.without or 'all-terms'}-{training.seed}"
                tell = begin(training, number)
                outcome = ablation_training.train(training, settings, place, minutes=plan.minutes, tell=tell)
                state.outcomes.append(outcome)
                ablation.write(folder / ablation.JSON, state)
                words = f"failed: {outcome.failure}" if outcome.failure else f"strength {outcome.strength:.3f}"
                console.print(
                    f"{len(state.outcomes)} of {len(plan.trainings)}. {training.title}: {words}",
                    highlight=False,
                    markup=False,
                )
    except KeyboardInterrupt:
        return False
    return True


@contextmanager
def _bar(console: Console, state: Ablation) -> Iterator[Callable[[Training, int], Callable[[], None]]]:
    """Show a progress bar. Its function takes the training that begins, and returns one to call now and then."""
    due, began_s = len(state.due()), time.monotonic()
    expected_s = 60 * (state.plan.minutes + EVALUATION_MINUTES)  # of one training
    with trial_bar(console, expected_s * due) as draw:

        def begin(training: Training, number: int) -> Callable[[], None]:
            begun_s = time.monotonic()
            each_s = (begun_s - began_s) / number if number else expected_s

            def tell() -> None:
                spent_s = min(time.monotonic() - begun_s, each_s)
                done_s = (number + spent_s / each_s) * expected_s
                left_s = (due - number) * each_s - spent_s
                draw(training.title, completed_s=done_s, trial=f"{number + 1} of {due}", left_s=left_s)

            return tell

        yield begin


def _conclude(console: Console, folder: Path, state: Ablation, *, finished: bool) -> None:
    from ludus.diagnostics import ablation_report

    again = f"ludus ablate --resume {shlex.quote(str(folder))}"
    if state.outcomes:
        for table in (ablation_report.strengths(state), ablation_report.behaviour(state)):
            if table is not None:
                console.print()
                console.print(tables.titled(table))
                console.print(table.note, highlight=False)
        console.print(f"Report: {ablation_report.write(folder, state, again)}", highlight=False, soft_wrap=True)
    if not finished:
        console.print(f"Interrupted; continue with: {again}", highlight=False, soft_wrap=True)
        raise typer.Exit(INTERRUPTED)
    if all(each.failure for each in state.outcomes):
        raise TrainingError(f"every training failed: {state.outcomes[0].failure}")
