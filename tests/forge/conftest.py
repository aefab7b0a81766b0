"""Tests in this folder play on a real Forge. They run with `pytest -m forge`, and are skipped without FORGE_HOME."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LONGEST_S = max(1800, 10 * int(os.environ.get("FORGE_GAMES", "200")))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not item.path.is_relative_to(HERE):
            continue
        item.add_marker(pytest.mark.forge)
        item.add_marker(pytest.mark.timeout(LONGEST_S))
        if not os.environ.get("FORGE_HOME"):
            item.add_marker(pytest.mark.skip(reason="FORGE_HOME names no installation of Forge"))
