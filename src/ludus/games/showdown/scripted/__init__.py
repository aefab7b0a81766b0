"""Opponents that follow rules, as vectorised policies, for every Showdown format and feature set."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ludus.games.showdown.scripted.expert import Expert
from ludus.games.showdown.scripted.heuristic import Heuristic
from ludus.games.showdown.scripted.policies import MaxDamage, MaxPower, RandomPolicy
from ludus.spec import GameSpec
from ludus.types import Policy

POLICIES: Mapping[str, Callable[[GameSpec, int], Policy]] = {
    "random": RandomPolicy,
    "max_power": MaxPower,
    "max_damage": MaxDamage,
    "heuristic": Heuristic,
}

SEARCHING: Mapping[str, Callable[[GameSpec, int], Policy]] = {"expert": Expert}
