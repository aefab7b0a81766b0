"""Joins the parts that several actors fill into the learner's batches."""

from __future__ import annotations

from ludus.types import SegmentBatch


class PartJoiner:
    """Copies parts from any actors into one batch until it is full. A batch has `parts` parts."""

    def __init__(self, parts: int) -> None:
        self._parts = parts
        self._batch: SegmentBatch | None = None  # allocated for the first part
        self._joined = 0

    @property
    def missing(self) -> int:
        """The number of parts until the next batch is full."""
        return self._parts - self._joined

    def add(self, part: SegmentBatch) -> SegmentBatch | None:
        """Copy a part, which may be overwritten afterwards. Returns the batch if it is full now.

        The batch is valid until the next call. All parts must have the same number of segments.
        """
        segments = len(part.action)
        if self._batch is None:
            self._batch = part.empty_like(segments * self._parts)
        self._batch.put_from(self._joined * segments, part, slice(None))
        self._joined = (self._joined + 1) % self._parts
        return self._batch if not self._joined else None

    def waiting(self) -> list[SegmentBatch]:
        """Return the parts that wait for the rest of their batch. They are valid until the next `add`."""
        if self._batch is None:
            return []
        segments = len(self._batch.action) // self._parts
        return [self._batch.take(slice(at * segments, (at + 1) * segments)) for at in range(self._joined)]
