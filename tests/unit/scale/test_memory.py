from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from ludus.scale.memory import free_bytes


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
