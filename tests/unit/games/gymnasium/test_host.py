"""What the host makes of a name and options, without a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ludus.errors import ConfigError
from ludus.games.gymnasium.host import make_game


@pytest.mark.parametrize(
    ("module", "env", "message"),
    [
        ("", "nobodys:Env", "there is no module nobodys; it must be importable from"),
        ("import nothing_of_the_sort", "broken:Env", "No module named 'nothing_of_the_sort' (broken.py:1)"),
        ("\nx = 1 / 0", "broken:Env", "ZeroDivisionError: division by zero (broken.py:2)"),
        ("class Envy: pass", "broken:Env", "broken has no Env; did you mean Envy?"),
        ("class Env: pass", "broken:Env", "without observation_space, action_space, reset, step"),
        ("def Env(): raise OSError('no display')", "broken:Env", "cannot be made: OSError: no display (broken.py:1)"),
        ("", "CartPole-v9", "CartPole"),
        ("", "Pendulum-v1", "its actions are Box(-2.0, 2.0, (1,), float32), which ludus cannot play"),
    ],
)
def test_an_environment_that_cannot_be_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, env: str, message: str
) -> None:
    (tmp_path / "broken.py").write_text(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    with pytest.raises(ConfigError) as refused:
        make_game({"env": env})
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_id_of_gymnasium_is_described_with_its_pace() -> None:
    game = make_game({"env": "FrozenLake-v1", "kwargs": {"is_slippery": False}})
    assert (game.spec.name, game.spec.seats, game.spec.actions) == ("gymnasium/FrozenLake-v1", 1, 4)
    assert [(leaf.name, leaf.shape) for leaf in game.spec.obs.leaves] == [("obs", (16,))]
    assert "a step takes" in str(game.facts["stepping"])
    assert not game.threads


def test_options_that_nobody_knows_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown field `envv`"):
        make_game({"envv": "CartPole-v1"})
