"""The checks before `ludus bench serve`."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from tests.serving import save_checkpoint

from ludus.diagnostics.serving_trials import ServingPlan, check
from ludus.errors import CheckpointError, ConfigError


@pytest.fixture
def plan(tmp_path: Path) -> ServingPlan:
    return ServingPlan(str(save_checkpoint(tmp_path / "run")), "perfect", matches=4, workers=1, concurrency=2)


def checked(plan: ServingPlan, folder: Path) -> list[str]:
    return [each.what for each in check(plan, folder, lambda game, options: None)]


def test_everything_is_looked_at_before_the_first_match(plan: ServingPlan, tmp_path: Path) -> None:
    assert checked(plan, tmp_path / "out") == ["policy", "simulator", "port", "disk"]


def test_a_missing_policy_or_opponent_and_a_taken_port_are_named(plan: ServingPlan, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nothing does not exist"):
        checked(msgspec.structs.replace(plan, policy=str(tmp_path / "nothing")), tmp_path)
    with pytest.raises(ConfigError, match="--opponent: this game has no scripted policy 'perfekt'"):
        checked(msgspec.structs.replace(plan, opponent="perfekt"), tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ConfigError, match="in use"):
        checked(msgspec.structs.replace(plan, port=taken.getsockname()[1]), tmp_path)


def test_a_disk_without_room_is_refused(plan: ServingPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=5 << 20))
    with pytest.raises(ConfigError, match="5 MiB are free, expected at least 200"):
        checked(plan, tmp_path / "out")
