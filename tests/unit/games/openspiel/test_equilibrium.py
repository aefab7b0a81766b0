from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ludus.errors import ConfigError
from ludus.games.openspiel import equilibrium
from ludus.games.openspiel.equilibrium import InformationStates
from ludus.games.openspiel.matches import LEAF
from ludus.games.openspiel.options import SpielOptions

UNIFORM = {"kuhn_poker": 11 / 12, "leduc_poker": 4.747222}  # OpenSpiel's own tests have these figures


def uniform(obs: NDArray[np.uint8], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.asarray(legal / legal.sum(1, keepdims=True), np.float64)


@pytest.mark.parametrize(("name", "states"), [("kuhn_poker", 12), ("leduc_poker", 936)])
def test_the_uniform_policy_is_as_far_from_equilibrium_as_is_known(name: str, states: int) -> None:
    found = InformationStates(SpielOptions(name))
    assert len(found.names) == len(set(found.names)) == states
    assert len(np.unique(found.obs, axis=0)) == states
    assert found.nash_conv(uniform) == pytest.approx(UNIFORM[name], abs=1e-5)


def kuhn_equilibrium(bluff: float) -> dict[str, float]:
    """Probability of betting by card and what was played before, of one of the equilibria that Kuhn gave (1950)."""
    return {
        "0": bluff, "1": 0.0, "2": 3 * bluff,
        "0pb": 0.0, "1pb": bluff + 1 / 3, "2pb": 1.0,
        "0p": 1 / 3, "1p": 0.0, "2p": 1.0,
        "0b": 0.0, "1b": 1 / 3, "2b": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize("bluff", [0.0, 0.2, 1 / 3])
def test_known_equilibria_of_kuhn_poker_leave_nothing_to_win(bluff: float) -> None:
    found = InformationStates(SpielOptions())
    bets = np.array([kuhn_equilibrium(bluff)[name] for name in found.names])
    said = np.stack([1 - bets, bets], axis=1)
    assert found.nash_conv(lambda obs, legal: said) == pytest.approx(0, abs=1e-9)
    worse = np.where(np.arange(12)[:, None] == found.names.index("0b"), [0.0, 1.0], said)  # calls a bet with a jack
    assert found.nash_conv(lambda obs, legal: worse) > 0.05


def test_each_state_is_shown_to_the_policy_as_a_host_shows_it() -> None:
    found = InformationStates(SpielOptions())
    shown = found.spec.obs.leaf(found.obs, LEAF)
    cards = [name[0] for name in found.names]
    assert [str(card) for card in shown[:, 2:5].argmax(1).tolist()] == cards
    assert found.legal.all()


def test_a_game_too_large_to_be_walked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equilibrium, "LARGEST", 20)
    with pytest.raises(ConfigError, match=r"kuhn_poker\(\) has more than 20 histories"):
        InformationStates(SpielOptions())
