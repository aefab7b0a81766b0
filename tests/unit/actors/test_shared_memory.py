from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from ludus.actors.shared_memory import SharedMemory, anonymous_file, free_bytes
from ludus.errors import ConfigError
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec, ObsSpec


def test_free_memory_is_that_of_the_container_where_it_has_a_limit(tmp_path: Path) -> None:
    machine = psutil.virtual_memory().available
    (tmp_path / "memory.current").write_text("1000000\n")
    (tmp_path / "memory.max").write_text("3000000\n")
    assert free_bytes(tmp_path) == 2_000_000
    (tmp_path / "memory.max").write_text("999\n")
    assert free_bytes(tmp_path) == 0
    (tmp_path / "memory.max").write_text("max\n")
    assert free_bytes(tmp_path) == pytest.approx(machine, rel=0.5)
    assert free_bytes(tmp_path / "none") == pytest.approx(machine, rel=0.5)


def test_more_batches_than_there_is_memory_for_are_refused_before_they_are_written() -> None:
    layout = SegmentLayout(GameSpec("fake", 1, 2, ObsSpec.pack({"x": ("float32", (2**20,))}), 1), 1, 1)
    file = anonymous_file()
    try:
        with pytest.raises(ConfigError, match=r"rollout\.queue: 1000000 batches of 4 MiB .* MiB that are free here"):
            SharedMemory(file, 16, layout, 1_000_000, create=True)
        assert os.fstat(file).st_size == 0
    finally:
        os.close(file)
