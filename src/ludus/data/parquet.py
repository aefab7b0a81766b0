"""Exports rows to Apache Parquet: one file per shard-sized part, one row per decision, one column per leaf."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus import files
from ludus.data import exporting
from ludus.data.dataset import Dataset
from ludus.data.exporting import Progress, Trajectory
from ludus.errors import DatasetError
from ludus.spec import GameSpec

PART_DECISIONS = 1 << 16


def export(dataset: Dataset, spec: GameSpec, out: Path, progress: Progress) -> int:
    """Write part-000000.parquet and so on into `out`. Returns the number of decisions.

    Leaves are lists, flattened in C order; their shapes are in the metadata of the schema. Raises SetupError without
    pyarrow, and DatasetError if the disk is full.
    """
    exporting.needed("pyarrow", "parquet")
    parts, waiting, decisions, written = 0, list[Trajectory](), 0, 0
    for trajectory in exporting.trajectories(dataset, spec):
        waiting.append(trajectory)
        decisions += len(trajectory.action)
        if decisions >= PART_DECISIONS:
            _write(out / f"part-{parts:06d}.parquet", waiting, spec)
            parts, written, waiting, decisions = parts + 1, written + decisions, [], 0
            progress(written, dataset.manifest.decisions)
    if waiting:
        _write(out / f"part-{parts:06d}.parquet", waiting, spec)
    progress(written + decisions, dataset.manifest.decisions)
    return written + decisions


def _write(path: Path, part: list[Trajectory], spec: GameSpec) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    counts = [len(each.action) for each in part]
    columns: dict[str, Any] = {
        "match": np.repeat([each.match for each in part], counts),
        "seat": np.repeat(np.array([each.seat for each in part], np.int16), counts),
        "step": np.concatenate([np.arange(count, dtype=np.int32) for count in counts]),
        "policy": pa.array([each.policy for each in part for _ in each.action], pa.string()).dictionary_encode(),
        "score": np.repeat(np.array([each.score for each in part], np.float32), counts),
        "truncated": np.repeat([each.truncated for each in part], counts),
        "action": np.concatenate([each.action for each in part]),
        "reward": np.concatenate([each.reward for each in part]),
        "legal": _lists(np.concatenate([each.legal for each in part])),
    }
    obs = np.concatenate([each.obs for each in part])
    shapes = {leaf.name: str(list(leaf.shape)) for leaf in spec.obs.leaves}
    columns |= {f"obs.{name}": _lists(values) for name, values in exporting.leaves(obs, spec).items()}
    metadata = {"ludus.game": spec.name, **{f"ludus.shape.obs.{name}": shape for name, shape in shapes.items()}}
    table = pa.table(columns).replace_schema_metadata(metadata)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.replacing(path) as partial:
            parquet.write_table(table, partial, compression="zstd")
    except (OSError, pa.ArrowException) as error:
        raise DatasetError(f"{path} cannot be written: {files.reason(error)}") from error


def _lists(values: NDArray[Any]) -> Any:  # Any: an array of pyarrow
    """Return [n, ...] as n lists of a fixed length."""
    import pyarrow as pa

    flat = values.reshape(len(values), -1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), flat.shape[1])
