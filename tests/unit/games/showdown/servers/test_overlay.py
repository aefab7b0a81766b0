from __future__ import annotations

import json
from pathlib import Path

import pytest

from ludus.games.showdown.servers import overlay


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """What npm leaves, in small."""
    root = tmp_path / "installed" / "node_modules" / "pokemon-showdown"
    for name in ("config", "databases", "dist"):
        (root / name).mkdir(parents=True)
    (root / "config" / "config-example.js").write_text("exports.port = 8000;\n")
    (root / "databases" / "schema.sql").write_text("-- tables")
    (root / "pokemon-showdown").write_text("#!/usr/bin/env node")
    return root


def test_what_a_server_writes_stays_out_of_the_package(package: Path, tmp_path: Path) -> None:
    before = sorted(package.rglob("*"))
    (tmp_path / "server").mkdir()
    root = overlay.lay(package, tmp_path / "server")
    for name in overlay.OWN:
        (root / name / "written").write_text("by the server")
    assert sorted(package.rglob("*")) == before
    assert (root / "pokemon-showdown").samefile(package / "pokemon-showdown")
    assert (root / "databases" / "schema.sql").read_text() == "-- tables"
    assert (root.parent / "node_modules").samefile(package.parent)


def test_its_configuration_is_the_example_and_then_ours(package: Path, tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    config = (overlay.lay(package, tmp_path / "server", "{network: 1}") / "config" / "config.js").read_text()
    assert config.startswith("exports.port = 8000;\n")
    assert "exports.bindaddress = '127.0.0.1';" in config
    assert "exports.subprocesses = {network: 1};" in config
    assert overlay.CONTROL.is_file()
    assert str(overlay.CONTROL) in config


def test_only_a_server_that_is_not_stock_is_sped_up(package: Path, tmp_path: Path) -> None:
    configs = {}
    for stock in (True, False):
        (tmp_path / str(stock)).mkdir()
        root = overlay.lay(package, tmp_path / str(stock), stock=stock)
        configs[stock] = (root / "config" / "config.js").read_text()
    assert overlay.ENGINE.is_file()
    assert overlay.GATHERING.is_file()
    assert f"require({json.dumps(str(overlay.ENGINE))}).speedUp({json.dumps(str(root.resolve()))})" in configs[False]
    assert "speedUp" not in configs[True]
    assert "gatherWrites" not in configs[True]
