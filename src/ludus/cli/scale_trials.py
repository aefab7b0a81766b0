"""Runs the missing trials of a scaling benchmark, with a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ludus.cli.trial_bar import trial_bar

if TYPE_CHECKING:
    import msgspec
    from rich.console import Console

    from ludus.diagnostics.scaling import FleetSize
    from ludus.diagnostics.study import Study
    from ludus.games.registry import Game
    from ludus.spec import GameSpec
    from ludus.types import Policy

LOGS, LOG = "logs", "scaling.log"


def play(state: Study, folder: Path, game: Game, options: msgspec.Struct, console: Console) -> bool:
    """Run the missing trials and save each when it ends. Returns False if interrupted."""
    from ludus.diagnostics import measure, scaling, scaling_report, study
    from ludus.metrics.exporters.log import logging_to

    plan = state.plan
    remaining = scaling.missing(plan, state.trials)
    rest = f", {len(remaining)} of them remain" if state.trials else ""
    console.print(
        f"{plan.title}, policy {plan.policy}: {len(plan.order)} trials of {plan.trial_s:.1f} s "
        f"(fleet sizes: {len(plan.sizes)}, repeats: {plan.repeats}){rest}",
        highlight=False,
        soft_wrap=True,
    )
    try:
        with logging_to(folder / LOG), _bar(console, state) as show:
            for repeat, size in remaining:
                show(str(size), 0.0)
                trial = measure.measure(
                    plan,
                    size,
                    repeat,
                    game=game,
                    options=options,
                    policy_of=_policy_of(plan.policy, game),
                    log_dir=folder / LOGS / _name(size, repeat),
                    gpus=state.machine.gpus,
                    tick=partial(show, str(size)),
                )
                state.trials.append(trial)
                study.write(folder, state)
                console.print(scaling_report.trial_line(trial), highlight=False, markup=False, soft_wrap=True)
    except KeyboardInterrupt:
        study.write(folder, state)  # the interrupt may have come before the last trial was written
        return False
    return True


def _name(size: FleetSize, repeat: int) -> str:
    """Return the name of a trial's log folder."""
    servers = f"{size.servers}s" if size.servers else ""
    return f"{servers}{size.hosts}x{size.matches}-{repeat + 1}"


@contextmanager
def _bar(console: Console, state: Study) -> Iterator[Callable[[str, float], None]]:
    """Show a progress bar. Its function takes the fleet size and the seconds that its trial has played."""
    from ludus.diagnostics.scaling import left_s

    plan = state.plan
    with trial_bar(console, plan.budget_s) as draw:

        def show(size: str, played_s: float) -> None:
            draw(
                size,
                completed_s=len(state.trials) * plan.trial_s + played_s,
                trial=f"{len(state.trials) + 1}/{len(plan.order)}",
                left_s=left_s(plan, state.trials, played_s),
                is_new=not played_s,
            )

        yield show


def _policy_of(name: str, game: Game) -> Callable[[GameSpec, int], Policy]:
    if name in game.scripted:
        return game.scripted[name]

    def load(spec: GameSpec, seed: int) -> Policy:
        import torch  # here, since scripted policies do not need it

        from ludus.games.registry import nets_of
        from ludus.policies.checkpoints import checkpoint

        state = checkpoint.read_state(Path(name))
        torch.set_num_threads(state.policy.threads)
        return checkpoint.load_agent(Path(name), spec, greedy=False, seed=seed, game_nets=nets_of(game), state=state)

    return load
