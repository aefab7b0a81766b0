"""What is missing is said in words, before a host starts."""

from __future__ import annotations

import importlib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from ludus.errors import ConfigError, SetupError
from ludus.games.rocket import game, host, simulator
from ludus.games.rocket.options import RocketOptions


def without_rocketsim(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def imported(name: str, package: str | None = None) -> Any:  # Any: a module
        if name == "RocketSim":
            raise ModuleNotFoundError("No module named 'RocketSim'", name=name)
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", imported)


def meshes_in(folder: Path, count: int) -> str:
    (folder / "soccar").mkdir()
    for each in range(count):
        (folder / "soccar" / f"mesh_{each}.cmf").write_bytes(b"no mesh")
    return str(folder)


def test_a_missing_simulator_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_rocketsim(monkeypatch)
    meshes = meshes_in(tmp_path, 16)
    with pytest.raises(SetupError, match=r"RocketSim is not installed .*pip install -e '\.\[rocket\]' in your clone"):
        game.command(RocketOptions(meshes=meshes))
    with pytest.raises(ConfigError, match="RocketSim is not installed"):
        host.make_game({"meshes": meshes})


def test_missing_meshes_are_named_with_the_package_that_carries_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", nothing)
    with pytest.raises(SetupError, match=r"no collision meshes: rlgym-rocket-league.*options\.meshes"):
        simulator.meshes_folder()


def test_a_folder_with_too_few_meshes_is_refused(tmp_path: Path) -> None:
    folder = meshes_in(tmp_path, 15)
    with pytest.raises(SetupError, match=r"has 15 collision meshes, expected 16"):
        game.command(RocketOptions(meshes=folder))


def test_options_that_do_not_exist_are_refused_by_the_host() -> None:
    with pytest.raises(ConfigError, match=r"rocket options: .*tick_skp"):
        host.make_game({"tick_skp": 8})
