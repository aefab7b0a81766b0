"""A dataset that several tests read, and some copy to change it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests import datasets

from ludus.api.datasets import render


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty matches of nim in two shards, with rows. Do not change it."""
    folder = tmp_path_factory.mktemp("datasets") / "nim"
    datasets.played(folder, 40)
    datasets.played(folder, 60, resume=True)
    assert render(folder, workers=1)
    return folder


@pytest.fixture
def copied(rendered: Path, tmp_path: Path) -> Path:
    """A copy of it, which a test may change."""
    return Path(shutil.copytree(rendered, tmp_path / "copied"))
