"""Datasets of policies on servers: the manifest knows their weights, and a dataset is not continued with others."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec
import pytest
from tests.serving import address, connect, eventually, save_checkpoint, served

from ludus.api import generating
from ludus.data import manifest
from ludus.data.dataset import Dataset
from ludus.errors import ConfigError
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.serving.server import ServerSettings


def test_a_dataset_is_not_continued_with_other_weights_on_the_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "ludus")  # a test before this one may have lowered it
    first = save_checkpoint(tmp_path / "run", 1)
    digest = checksums.of_file(first / checkpoint.MODEL).sha256
    out = tmp_path / "data"
    with served(tmp_path / "run") as server:
        port, where = server.address.port, address(server, "run")
        generating.generate(where, matches=4, out=out, workers=1)
        generating.generate(where, matches=6, out=out, workers=1, resume=True)
    assert [each.sha256 for each in Dataset.open(out).manifest.policies] == [digest]
    second = save_checkpoint(tmp_path / "run", 2, seed=2)
    with served(tmp_path / "run", settings=ServerSettings(port=port)):
        with pytest.raises(ConfigError, match=rf"other policies \(.*{digest[:12]}\) than given .*; resume it with"):
            generating.generate(where, matches=8, out=out, workers=1, resume=True)
        assert not caplog.records
        content = manifest.read(out)  # as an earlier version wrote it
        notes = [msgspec.structs.replace(each, sha256="") for each in content.policies]
        manifest.write(out, msgspec.structs.replace(content, policies=notes))
        with caplog.at_level(logging.WARNING):
            result = generating.generate(where, matches=8, out=out, workers=1, resume=True)
    assert result.finished
    assert "no checksum to compare; make sure that it has the same weights" in caplog.text
    assert second != first


def test_the_greeting_tells_the_checksum_of_the_weights_in_use(tmp_path: Path) -> None:
    def digest(path: Path) -> str:
        return checksums.of_file(path / checkpoint.MODEL).sha256

    def told(name: str) -> str:
        with connect(server, name) as client:
            return client.policy.sha256

    old = save_checkpoint(tmp_path / "run", 1)
    with served(watched=(tmp_path / "run",), settings=ServerSettings(watch_s=0.05)) as server:
        assert told("run") == digest(old)
        new = save_checkpoint(tmp_path / "run", 2, seed=2)
        eventually(lambda: told("run") == digest(new), "the newer weights")
        assert told("run@u00000001") == digest(old) != digest(new)
