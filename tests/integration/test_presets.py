"""Every preset that comes with ludus trains on 1,000 decisions with its own net, options and algorithm, and evaluates.

Sizes are small; everything else is the preset's. A preset whose game is not installed is skipped, with the reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.running import Silent

from ludus import run
from ludus.actors.resolved import ResolvedRun, resolve
from ludus.config import load
from ludus.errors import ConfigError, SetupError
from ludus.games import catalogue
from ludus.run.folder import has_checkpoint

DECISIONS = 1000
BATCH, MINIBATCH, SEGMENT = 1024, 256, 16
SIZES = (
    *("mode=serial", "fleet.hosts=1", "fleet.matches=8", "fleet.parts=1", f"rollout.segment={SEGMENT}"),
    *(f"learner.decisions={BATCH}", f"learner.minibatch={MINIBATCH}", "learner.epochs=1"),
    *("budget.minutes=0", f"budget.decisions={DECISIONS}", "budget.updates=0"),
    *("evaluation.matches=2", "evaluation.quick_matches=2"),
)
SHIPPED = {
    name: path
    for name, path in catalogue.presets().items()
    if "/" not in name and "ludus/games" in path.as_posix()  # GAME/NAME is a second name of the same file
}


def small(path: Path) -> ResolvedRun:
    """Return the run of a preset with small sizes, and one opponent in evaluations."""
    data = dict(load.read(path))
    data.pop("n_envs", None)  # another name of fleet.matches
    sized = load.override(data, SIZES)
    first = resolve(sized)
    opponents = first.config.evaluation.opponents or tuple(first.game.scripted)
    return resolve(load.override(sized, [f"evaluation.opponents=[{opponents[0]}]"])) if opponents else first


def test_presets_are_found() -> None:
    assert {"gen1", "nim", "rocket", "cartpole", "kuhn"} <= SHIPPED.keys()


@pytest.mark.parametrize("name", SHIPPED)
def test_a_preset_trains_on_1000_decisions_and_evaluates(name: str, tmp_path: Path) -> None:
    try:
        resolved = small(SHIPPED[name])
        if resolved.game.prepare is not None:
            resolved.game.prepare(resolved.options, lambda step, share: None)
        resolved.game.command(resolved.options)
        result = run.train(resolved, tmp_path, observer=Silent())
    except SetupError as error:
        pytest.skip(str(error))
    except ConfigError as error:
        if "options.program" not in str(error):  # a program that only this machine's user can name, such as a daemon
            raise
        pytest.skip(str(error))
    assert result.version >= 1
    assert not result.interrupted
    assert has_checkpoint(tmp_path)
    assert all(each.matches == 2 for each in result.evaluation)
    assert result.evaluation
