"""The weights that a new run begins with, if they are those of another run: fine-tuning."""

from __future__ import annotations

from pathlib import Path

from ludus.actors.resolved import ResolvedRun
from ludus.errors import CheckpointError, ConfigError
from ludus.games import agents
from ludus.policies.checkpoints import checkpoint
from ludus.policies.nets.net import Net
from ludus.policies.weights import read_tensors
from ludus.spec import GameSpec


def refuse_unfit(run: ResolvedRun) -> None:
    """Raise ConfigError if `start_from` names no checkpoint, or one of another net. Called before anything starts."""
    if not run.config.start_from or run.checkpoint is not None:
        return
    try:
        path = checkpoint.find(agents.path_of(run.config.start_from))
        checkpoint.check_net(checkpoint.read_state(path), run.config.policy, run.game.net, path)
    except CheckpointError as error:
        raise ConfigError(f"start_from: {error}") from error


def load(net: Net, spec: GameSpec, start_from: Path) -> None:
    """Copy the weights of a run's latest checkpoint, or of a checkpoint, into `net`. Raises CheckpointError if they do
    not fit the game or the net."""
    path = checkpoint.find(agents.path_of(start_from))
    checkpoint.check_fits(checkpoint.read_state(path), spec, path, staged=True)
    checkpoint.load_net(net, read_tensors(path / checkpoint.MODEL), path)
