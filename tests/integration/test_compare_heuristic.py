"""`scripts/compare_heuristic.py` on a real Showdown host: poke-env's battle objects receive every line of the match."""

from __future__ import annotations

import pytest
from scripts.compare_heuristic import compare

from ludus.games.showdown.game import ShowdownOptions

pytestmark = pytest.mark.usefixtures("showdown")


def test_heuristic_mostly_chooses_what_poke_env_chooses_in_the_same_battle() -> None:
    decisions = list(compare(ShowdownOptions(format="gen1randombattle"), matches=2, seed=77))
    assert max(decision.turn for decision in decisions) > 5  # poke-env reads the turn from the lines
    equal = sum(decision.ours == decision.theirs for decision in decisions)
    assert equal / len(decisions) > 0.9
