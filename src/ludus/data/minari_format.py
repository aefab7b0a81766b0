"""Exports rows to a Minari dataset: one episode per seat of a match."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ludus.data import exporting
from ludus.data.dataset import Dataset
from ludus.data.exporting import Progress, Trajectory
from ludus.errors import DatasetError
from ludus.spec import GameSpec, Leaf

ENVIRONMENT = "MINARI_DATASETS_PATH"


def export(dataset: Dataset, spec: GameSpec, out: Path, progress: Progress) -> int:
    """Write a Minari dataset named like the folder `out`, into its parent folder. Returns the number of decisions.

    An observation is a dictionary of leaves and the mask `legal`. Minari's episodes have one observation more than
    actions: the last one is repeated, since players do not see a match after its end. Raises SetupError without minari,
    and DatasetError if the disk is full.
    """
    minari = exporting.needed("minari", "minari")
    exporting.needed("h5py", "minari")
    gymnasium = exporting.needed("gymnasium", "minari")
    spaces = {leaf.name: _space(gymnasium, leaf) for leaf in spec.obs.leaves}
    spaces["legal"] = gymnasium.spaces.MultiBinary(spec.actions)
    written = 0

    def episodes() -> Iterator[Any]:  # Any: an EpisodeBuffer of minari
        nonlocal written
        for trajectory in exporting.trajectories(dataset, spec):
            if len(trajectory.action):
                written += len(trajectory.action)
                progress(written, dataset.manifest.decisions)
                yield _episode(minari, trajectory, spec)

    with _datasets_in(out.parent), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it recommends an author and an address
        try:
            minari.create_dataset_from_buffers(
                dataset_id=f"ludus/{out.name}-v0",
                buffer=list(episodes()),
                observation_space=gymnasium.spaces.Dict(spaces),
                action_space=gymnasium.spaces.Discrete(spec.actions),
                algorithm_name=", ".join(policy.name for policy in dataset.manifest.policies),
                description=f"{spec.name}, recorded with ludus {dataset.manifest.ludus}",
            )
        except OSError as error:
            raise DatasetError(f"{out} cannot be written: {error}") from error
    return written


def _space(gymnasium: Any, leaf: Leaf) -> Any:  # Any: a module, and a space of it
    if leaf.is_real:
        return gymnasium.spaces.Box(-np.inf, np.inf, leaf.shape, np.float32)
    limits = np.iinfo(leaf.dtype)
    return gymnasium.spaces.Box(limits.min, limits.max, leaf.shape, leaf.storage_dtype)


def _episode(minari: Any, trajectory: Trajectory, spec: GameSpec) -> Any:  # Any: a module, and a buffer of it
    def extended(values: Any) -> Any:  # Any: an array of any type
        return np.concatenate([values, values[-1:]])

    last = np.zeros(len(trajectory.action), np.bool_)
    last[-1] = True
    observations = {name: extended(values) for name, values in exporting.leaves(trajectory.obs, spec).items()}
    return minari.data_collector.EpisodeBuffer(
        observations={**observations, "legal": extended(trajectory.legal).astype(np.int8)},
        actions=trajectory.action.astype(np.int64),
        rewards=trajectory.reward.astype(np.float64),
        terminations=last & (not trajectory.truncated),
        truncations=last & trajectory.truncated,
        infos={},
        seed=trajectory.seed,
    )


@contextmanager
def _datasets_in(folder: Path) -> Iterator[None]:
    """Let Minari write its datasets into `folder`."""
    before = os.environ.get(ENVIRONMENT)
    os.environ[ENVIRONMENT] = str(folder.resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ[ENVIRONMENT]
        else:
            os.environ[ENVIRONMENT] = before
