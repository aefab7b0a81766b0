"""The entry point of the faulty game, and how a test makes it known to processes that it starts."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.faulty.options import FaultyOptions

from ludus.games.toy.game import game as toy
from ludus.processes.command import HostCommand, python_host

ROOT = Path(__file__).parents[2]


def command(options: FaultyOptions | None = None) -> HostCommand:
    return replace(python_host("tests.faulty.host"), env={"PYTHONPATH": _with_path(ROOT)})


game = replace(toy, name="faulty", options=FaultyOptions, command=command)


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `registry.load("faulty")` find the game, here and in child processes: `folder` becomes its package."""
    info = folder / "ludus_faulty-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ludus-faulty\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[ludus.games]\nfaulty = tests.faulty.game:game\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", _with_path(folder, ROOT))


def _with_path(*folders: Path) -> str:
    present = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join([*map(str, folders), *filter(None, present)])
