"""Plays the turns of a scaling benchmark that are missing, under a progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import msgspec
    from rich.console import Console

    from ludus.diagnostics.scaling import FleetSize
    from ludus.diagnostics.study import Study
    from ludus.games.registry import Game
    from ludus.spec import GameSpec
    from ludus.types import Policy

LOGS, LOG = "logs", "scaling.log"
REDRAW_S = 0.2


def play(state: Study, folder: Path, game: Game, options: msgspec.Struct, console: Console) -> bool:
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
                    log_dir=folder / LOGS / _name(cell, repeat),
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


def _name(cell: FleetSize, repeat: int) -> str:
    """Of a turn's folder."""
    servers = f"{cell.servers}s" if cell.servers else ""
    return f"{servers}{cell.hosts}x{cell.matches}-{repeat + 1}"


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


def _policy_of(name: str, game: Game) -> Callable[[GameSpec, int], Policy]:
    if name in game.scripted:
        return game.scripted[name]

    def load(spec: GameSpec, seed: int) -> Policy:
        import torch  # only here: scripted policies do without

        from ludus.games.registry import nets_of
        from ludus.policies.checkpoints import checkpoint

        torch.set_num_threads(checkpoint.read_state(Path(name)).policy.threads)
        return checkpoint.load_agent(Path(name), spec, greedy=False, seed=seed, game_nets=nets_of(game))

    return load
