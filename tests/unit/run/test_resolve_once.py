"""A run is resolved once: settings, devices, cores and the checkpoint are not looked up again by later parts."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.running import small_run

import ludus
from ludus.api import evaluating
from ludus.config import load, validation
from ludus.games.toy.options import ToyOptions
from ludus.learner import devices
from ludus.policies import placement
from ludus.policies.checkpoints import checkpoint
from ludus.processes.cores import cores

NAMES = ("options", "learner device", "actor device", "cores", "state.json")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts what is resolved in this process, by name."""
    counts: Counter[str] = Counter()

    def counting(name: str, function: Callable[..., Any], when: Callable[..., bool] = lambda *args: True) -> Any:
        def counted(*args: Any, **keywords: Any) -> Any:
            counts[name] += when(*args)
            return function(*args, **keywords)

        return counted

    def is_options(data: object, struct: type, *path: str) -> bool:
        return struct is ToyOptions

    monkeypatch.setattr(load, "check", counting("options", validation.check, is_options))
    monkeypatch.setattr(evaluating, "check", counting("options", validation.check, is_options))
    monkeypatch.setattr(devices, "choose", counting("learner device", devices.choose))
    monkeypatch.setattr(placement, "choose", counting("actor device", placement.choose))
    for module in modules_with("cores"):
        monkeypatch.setattr(module, "cores", counting("cores", module.cores))
    for module in modules_with("read_state"):
        monkeypatch.setattr(module, "read_state", counting("state.json", module.read_state))
    return counts


def modules_with(name: str) -> list[Any]:
    """All loaded modules of ludus in which a function of this name can be called."""
    original = {"cores": cores, "read_state": checkpoint.read_state}[name]
    return [
        module
        for key, module in list(sys.modules.items())
        if key.startswith("ludus") and getattr(module, name, None) is original
    ]


@pytest.mark.parametrize("mode", ["serial", "overlapped"])
def test_a_start_and_a_resume_look_everything_up_once(tmp_path: Path, calls: Counter[str], mode: str) -> None:
    settings = msgspec.to_builtins(small_run(1, mode=mode))
    ludus.train(settings, run_dir=tmp_path / "run", progress=False)
    assert calls == {"options": 1, "learner device": 1, "actor device": 1, "cores": 1}
    calls.clear()
    run = ludus.train(run_dir=tmp_path / "run", resume=True, updates=2, progress=False)
    assert run.updates == 2
    assert calls == dict.fromkeys(NAMES, 1)


def test_an_evaluation_looks_everything_up_once(tmp_path: Path, calls: Counter[str]) -> None:
    run = ludus.train(msgspec.to_builtins(small_run(1)), run_dir=tmp_path / "run", progress=False)
    calls.clear()
    ludus.evaluate(run, opponents=["random"], matches=2, hosts=1)
    assert calls == {"options": 1, "actor device": 1, "cores": 1, "state.json": 1}


def test_an_agent_is_loaded_with_one_look_at_its_checkpoint(tmp_path: Path, calls: Counter[str]) -> None:
    run = ludus.train(msgspec.to_builtins(small_run(1)), run_dir=tmp_path / "run", progress=False)
    calls.clear()
    assert ludus.load(run).updates == 1
    assert calls == {"actor device": 1, "state.json": 1}
