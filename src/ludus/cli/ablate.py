"""`ludus ablate`: what each term of a reward, or each change of the settings, is worth."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
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
        help="A preset (see `ludus games`) or a YAML file.",
        show_default=False,
    ),
]
TermsOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Reward terms to leave out, one at a time. Default: each term, unless --change is given.",
        show_default=False,
    ),
]
ChangeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--change",
        metavar="'NAME: A.B=VALUE'",
        help="Settings to train with instead of those of CONFIG, separated by spaces. May be given several times.",
        show_default=False,
    ),
]
BesideOption = Annotated[
    int, typer.Option("--beside", min=1, help="Trainings that run at the same time, each on cores of its own.")
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
    changes: tuple[str, ...]
    minutes: float | None
    updates: int | None
    seeds: int | None
    save: Path | None

    def refuse_beside_resume(self) -> None:
        """Raise ConfigError if an option is given that a resumed ablation keeps."""
        plan_options = {
            **{"CONFIG": self.config, "--game": self.game, "--set": self.sets, "--terms": self.terms},
            "--change": self.changes,
            **{"--minutes": self.minutes, "--updates": self.updates, "--seeds": self.seeds, "--save": self.save},
        }
        if names := [name for name, value in plan_options.items() if value]:
            raise ConfigError(f"--resume: keeps the plan of the ablation; leave out {', '.join(names)}")


def ablate(
    config: ConfigArgument = None,
    game: GameOption = None,
    sets: SetOption = None,
    terms: TermsOption = None,
    changes: ChangeOption = None,
    minutes: MinutesOption = None,
    updates: UpdatesOption = None,
    seeds: SeedsOption = None,
    save: SaveOption = None,
    beside: BesideOption = 1,
    resume: ResumeOption = None,
) -> None:
    """Find out what each term of a reward, or each change of the settings, is worth: train with it and without it.

    Trains all variants with the same seeds, and compares their final evaluations and their behaviour. Ctrl-C shows what
    is known so far; --resume continues.

    Example: [bold]ludus ablate rocket --terms touch_strength,speed_to_ball --minutes 5 --seeds 3[/bold]

    Example: [bold]ludus ablate gen1 --change 'wide: policy.width=128' --change learner.lr=1e-3 --beside 3[/bold]
    """
    places.check_folder(save or FOLDER, "--save")
    from rich.console import Console

    console = Console()
    arguments = AblateArguments(
        config, game, tuple(sets or ()), terms, tuple(changes or ()), minutes, updates, seeds, save
    )
    _check_cores(beside)
    try:
        folder, state = _begin(arguments, console) if resume is None else _resumed(resume, arguments, console)
    except KeyboardInterrupt:
        typer.echo("ludus: interrupted before anything was trained", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finished = _train_all(console, folder, state, beside)
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
    changes = ablated_settings.changes_of(arguments.changes)
    has_terms = arguments.terms is not None or not changes
    plan = ablation.AblationPlan(
        name=source.name,
        title=familiar.title(run.config),
        settings=msgspec.to_builtins(run.config),
        terms=tuple(ablated_settings.chosen_terms(run, arguments.terms)) if has_terms else (),
        changes=changes,
        seeds=tuple(run.config.seed + number for number in range(arguments.seeds or SEEDS)),
        minutes=minutes,
        updates=arguments.updates or 0,
    )
    for variant in _variants(run, plan):
        trust.remember(variant.game, variant.config.options)
    command_parts.install(run.game, run.options, console)
    folder, state = arguments.save or new_run_dir(FOLDER, source.name, date.today()), ablation.Ablation(plan=plan)
    ablation.write(folder / ablation.JSON, state)
    each = f"{minutes:g} minutes" if minutes else f"{plan.updates} updates"
    console.print(
        f"{plan.title}: {len(plan.trainings)} trainings of {each}: {'; '.join(map(plan.label, plan.variants))}; "
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
    if state.plan.terms:
        ablated_settings.chosen_terms(run, ",".join(state.plan.terms))
    for variant in _variants(run, state.plan):
        settings_source.refuse_untrusted(variant, (), str(folder / ablation.JSON))
    command_parts.install(run.game, run.options, console)
    state.outcomes = [each for each in state.outcomes if not each.failure]  # those that failed are tried again
    return folder, state


def _variants(run: ResolvedRun, plan: AblationPlan) -> list[ResolvedRun]:
    """Return the runs of all variants. Raises ConfigError, before anything is trained, for one that cannot be."""
    from ludus.config.folders import file_name
    from ludus.diagnostics import ablated_settings

    if len(set(map(file_name, map(plan.label, plan.variants)))) < len(plan.variants):  # a folder each
        raise ConfigError(f"--change: two variants have the same name: {', '.join(map(plan.label, plan.variants))}")
    return [ablated_settings.variant_of(run, plan, variant) for variant in plan.variants]


def _check_cores(beside: int) -> None:
    from ludus.processes.cores import cores

    if beside > cores():
        raise ConfigError(f"--beside: {beside} trainings at a time need a core each, and there are {cores()}")


def _train_all(console: Console, folder: Path, state: Ablation, beside: int) -> bool:
    """Train what is due, and save each outcome. Returns False if interrupted."""
    import msgspec

    from ludus.actors.resolved import resolve
    from ludus.config.folders import file_name
    from ludus.diagnostics import ablated_settings, ablation, ablation_training
    from ludus.diagnostics.ablation import TrainingOutcome
    from ludus.processes import interrupts

    plan, run, due = state.plan, resolve(state.plan.settings), state.due()

    def train(training: Training, tell: Callable[[], None]) -> TrainingOutcome:
        variant = ablated_settings.variant_of(run, plan, training.variant)
        settings = {**msgspec.to_builtins(variant.config), "seed": training.seed}
        place = folder / "trainings" / f"{file_name(plan.label(training.variant))}-{training.seed}"
        return ablation_training.train(training, settings, place, minutes=plan.minutes, tell=tell)

    try:
        with (
            interrupts.handled() as interrupted,
            interrupted.raised(),
            _bar(console, state, beside) as tell,
            closing(ablation_training.train_all(due, beside, train, tell)) as outcomes,
        ):
            for outcome in outcomes:
                state.outcomes.append(outcome)
                ablation.write(folder / ablation.JSON, state)
                words = f"failed: {outcome.failure}" if outcome.failure else f"strength {outcome.strength:.3f}"
                number = f"{len(state.outcomes)} of {len(plan.trainings)}"
                console.print(f"{number}. {plan.title_of(outcome.training)}: {words}", highlight=False, markup=False)
    except KeyboardInterrupt:
        return False
    return True


@contextmanager
def _bar(console: Console, state: Ablation, beside: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar. Its function is called now and then."""
    due, before, began_s = len(state.due()), len(state.outcomes), time.monotonic()
    expected_s = 60 * (state.plan.minutes + EVALUATION_MINUTES)  # of one training
    with trial_bar(console, expected_s * due) as draw:

        def tell() -> None:
            spent_s, done = time.monotonic() - began_s, len(state.outcomes) - before
            each_s = spent_s * min(beside, due) / done if done else expected_s
            left_s = max(0.0, due * each_s / min(beside, due) - spent_s)
            completed_s = expected_s * due * spent_s / max(spent_s + left_s, 1e-9)
            draw("training", completed_s=completed_s, trial=f"{min(done + 1, due)} of {due}", left_s=left_s)

        yield tell


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
