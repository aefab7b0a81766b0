"""Runs the trials of `ludus tune` until the budget is used up, with a progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ludus.cli import tune_plan
from ludus.cli.trial_bar import trial_bar
from ludus.errors import ConfigError, SetupError
from ludus.processes import interrupts

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.diagnostics.training_trial import TrialProgress
    from ludus.diagnostics.tuning import Due, TrainingTrial, Tuning

WIDE = 100  # columns of a terminal from which on the bar names the configuration
TRIALS = "trials"  # folder of the running trial, and of the logs of those that failed
Show = Callable[["TrialProgress | None"], None]


def play(state: Tuning, folder: Path, console: Console) -> bool:
    """Run trials and save each when it ends. Returns False if interrupted."""
    from ludus.diagnostics import tuning, tuning_report

    before_s, began_s = state.spent_s, time.monotonic()

    def spend() -> float:
        state.spent_s = before_s + time.monotonic() - began_s
        return state.spent_s

    try:
        with interrupts.handled() as interrupted, interrupted.raised(), _bar(console, state, spend) as show:
            while (due := _next(state, console)) is not None:
                trial = _run(state, due, folder, show)
                spend()
                state.trials.append(trial)
                tuning.write(folder / tuning.JSON, state)
                say(console, [f"{len(state.trials)}. {tuning_report.trial_line(trial)}"])
    except KeyboardInterrupt:
        spend()
        tuning.write(folder / tuning.JSON, state)  # the interrupt may have come before the last trial was written
        return False
    finally:
        with suppress(OSError):  # it has the logs of a trial that failed, or does not exist
            (folder / TRIALS).rmdir()
    return True


def _next(state: Tuning, console: Console) -> Due | None:
    """Return the next trial, from a new round if the present one is complete. Returns None at the end."""
    from ludus.diagnostics import tuning, tuning_report

    trials = tuning.affordable(state.left_s, state.trial_s)
    if len(state.trials) == 1 and state.replan(trials):
        say(console, [tuning_report.new_plan_line(state)])
    due = state.due()
    if due is None and state.begin_round(trials):
        say(console, [tuning_report.round_line(state)], style="bold")
        due = state.due()
    return due if trials else None


def say(console: Console, lines: Sequence[str], style: str = "") -> None:
    """Print lines, wrapped between words on a terminal and not at all elsewhere."""
    for line in lines:
        console.print(line, style=style, highlight=False, markup=False, soft_wrap=not console.is_terminal)


def _run(state: Tuning, due: Due, folder: Path, show: Callable[[Due], Show]) -> TrainingTrial:
    """Run one trial. If it cannot run, the returned trial has the reason."""
    from ludus.diagnostics import training_trial, trial_process

    tell, plan = show(due), state.plan
    try:
        order = training_trial.TrialOrder(
            due=due,
            settings=tune_plan.config_of(plan.settings, due.configuration),
            folder=str(folder / TRIALS / f"{due.round + 1}-{len(state.trials) + 1}"),
            warm_s=plan.warm_s,
            measure_s=plan.measure_s,
            gpus=state.machine.gpus,
        )
        return trial_process.run(order, start_limit_s=state.start_limit_s(), limit_s=state.limit_s(), tell=tell)
    except (ConfigError, SetupError, OSError) as error:
        return training_trial.failed(due, str(error))


@contextmanager
def _bar(console: Console, state: Tuning, spend: Callable[[], float]) -> Iterator[Callable[[Due], Show]]:
    """Show a progress bar. Its function takes the trial that begins, and returns one that takes its reports."""
    with trial_bar(console, state.plan.budget_s) as draw:

        def begin(due: Due) -> Show:
            words, trials = "starting", sum(each.trials for each in state.remaining())
            expected_s = state.spent_s + trials * state.trial_s

            def show(progress: TrialProgress | None) -> None:
                nonlocal words
                if progress is not None:
                    rate = f" {progress.decisions_per_s:,.0f}/s" if progress.decisions_per_s else ""
                    words = f"{progress.phase}{rate}"
                spent_s = spend()
                draw(
                    f"{due.configuration}: {words:<18}" if console.width >= WIDE else f"{words:<18}",
                    completed_s=spent_s,
                    trial=f"{len(state.trials) + 1} of about {len(state.trials) + trials}",
                    left_s=expected_s - spent_s,
                    is_new=progress is not None,
                )

            return show

        yield begin
