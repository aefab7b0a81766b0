"""The source of training batches that reads a dataset instead of playing. Implements `learner.feed.BatchSource`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ludus import files
from ludus.config.settings import DataConfig
from ludus.data.dataset import Dataset
from ludus.data.sampler import SamplerState, SegmentSampler
from ludus.data.selecting import Selection
from ludus.errors import CheckpointError, ConfigError, DatasetError
from ludus.league.matchmaking import OpponentNews
from ludus.policies.checkpoints import checksums
from ludus.policies.checkpoints.read_errors import reading
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

POSITION = "sampler"  # tensor of a checkpoint's file: epoch, batch, and a number that identifies the dataset


class DatasetSource:
    """Yields batches of recorded decisions. Their version is always the learner's, so none of them is stale."""

    def __init__(
        self,
        config: DataConfig,
        spec: GameSpec,
        layout: SegmentLayout,
        *,
        gamma: float,
        seed: int,
        saved: Path | Sequence[int] | None = None,
    ) -> None:
        """`saved` is a file that `save` wrote, or a position that `sampled` returned. Raises DatasetError if the
        dataset has no rows for this game, and CheckpointError if `saved` is damaged or of another dataset."""
        self.spec = spec
        dataset = Dataset.open(Path(config.folder))
        refuse_stale_rows(dataset, spec)
        self._identity = _identity(dataset, config)
        self._batch = layout.allocate()
        for array in self._batch.arrays().values():
            array.fill(0)
        self._sampler = SegmentSampler(
            dataset,
            spec,
            Selection.of(config, dataset.manifest.policies),
            segments=layout.segments,
            length=layout.length,
            gamma=gamma,
            seed=seed,
            state=None if saved is None else self._position(saved),
            verify=config.verify,
        )
        self._version = 0

    def start(self, weights: NDArray[np.float32], version: int) -> None:
        self._version = version

    def next(self, stopped: Callable[[], bool]) -> SegmentBatch | None:
        if stopped():
            return None
        self._sampler.next(self._batch)
        self._batch.version.fill(self._version)
        return self._batch

    def ready(self) -> bool:
        return True

    def catch_up(self) -> None:
        """Do nothing: nobody plays meanwhile."""

    def release(self) -> None:
        """Do nothing: the next call of `next` fills the batch again."""

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        self._version = version

    def set_past(self, versions: Sequence[int]) -> None:
        """Do nothing: there are no opponents."""

    def tell(self, news: OpponentNews) -> None:
        """Do nothing: there are no opponents."""

    @property
    def under_way(self) -> int:
        """0: there are no matches."""
        return 0

    def states(self) -> list[None]:
        """Return [None]: there is no actor."""
        return [None]

    @property
    def sampled(self) -> list[int]:
        """The position of the sampler: epoch, batch, and a number that identifies the dataset."""
        state = self._sampler.state
        return [state.epoch, state.batch, self._identity]

    @property
    def position(self) -> None:
        """None: the position is in the file that `save` writes."""

    def save(self, path: Path, *, leaving: bool = False) -> bool:
        """Write the position of the sampler into a file. Raises OSError."""
        files.write(path, save({POSITION: np.array(self.sampled, np.int64)}), durable=True)
        return True

    def _position(self, saved: Path | Sequence[int]) -> SamplerState:
        where = saved if isinstance(saved, Path) else "sampler in the checkpoint"
        with reading(where):
            epoch, batch, identity = _read(saved) if isinstance(saved, Path) else saved
        if identity != self._identity:
            raise CheckpointError(
                f"{where} is a position in another dataset, or in one that has grown or is filtered in another way"
            )
        return SamplerState(epoch, batch)


def refuse_stale_rows(dataset: Dataset, spec: GameSpec) -> None:
    """Raise DatasetError, which says what to do, unless some shards have rows that `spec` describes."""
    content = dataset.manifest
    if spec.name != content.spec.name and spec.net_fingerprint != content.spec.net_fingerprint:
        raise ConfigError(f"data.folder: {dataset.folder} is of {content.spec.name}, this run plays {spec.name}")
    if any(shard.rows is not None and shard.rows.fingerprint == spec.fingerprint for shard in content.shards):
        return
    what = "has no rows" if content.rows_spec is None else f"has rows of schema {content.rows_spec.schema}"
    if content.replayable:
        raise DatasetError(
            f"{dataset.folder} {what}, and {spec.name} has schema {spec.schema} now; render them with `ludus data "
            f"render {dataset.folder}`"
        )
    raise DatasetError(
        f"{dataset.folder} {what}, {spec.name} has schema {spec.schema} now, and its matches cannot be played again; "
        "use the version of ludus that recorded them, or record others"
    )


def _read(path: Path) -> list[int]:
    try:
        with safe_open(checksums.verified(path), "np") as file:
            return [int(number) for number in file.get_tensor(POSITION)]
    except SafetensorError as error:
        raise CheckpointError(f"{path} holds no position in a dataset: {error}") from error


def _identity(dataset: Dataset, config: DataConfig) -> int:
    """Return a number that differs between datasets and selections."""
    shards = [(shard.name, shard.ledger.sha256) for shard in dataset.shards]
    text = repr((shards, config.policies, config.won, config.min_rating, config.newest, config.holdout))
    return int(checksums.of_bytes(text.encode()).sha256[:15], 16)
