"""Scripted policies of the game `forge-daemon`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludus.errors import ConfigError
from ludus.games.forge import daemon_view
from ludus.games.forge.daemon_choices import KINDS
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices

LIKED = {"land": 9, "spell": 8, "attack": 7, "block": 3, "unblocked": 4, "yes": 6, "card": 5, "entity": 5, "ability": 5}


class DaemonCurvePolicy:
    """Plays a land, then the most expensive spell that it can, attacks with everything and never blocks."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self._spec = spec
        self._liked = np.array([LIKED.get(kind, 1) for kind in KINDS], np.float32)

    def act(self, arrivals: Arrivals) -> Choices:
        kind = self._spec.obs.leaf(arrivals.obs, "option_kind").astype(np.int64)
        card = self._spec.obs.leaf(arrivals.obs, "option_card").astype(np.int64)
        cost: NDArray[np.float32] = self._spec.obs.reals(arrivals.obs, "card")[:, :, daemon_view.CARD.index("cmc")]
        costs = np.take_along_axis(cost, np.maximum(card - 1, 0), axis=1) * (card > 0)
        scores = np.where(arrivals.legal, self._liked[kind] + 0.1 * costs, -1.0)
        return Choices.scripted(scores.argmax(axis=1).astype(np.int32))


class RecordedAiPolicy:
    """Repeats what Forge's own AI chose, in games that it plays (`options.observe`). Use it to record datasets."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        pass

    def act(self, arrivals: Arrivals) -> Choices:
        actions = daemon_view.demonstrated(arrivals.obs)
        if (actions < 0).any():
            raise ConfigError("scripted:forge_ai repeats games that Forge's AI plays: --set options.observe=true")
        return Choices.scripted(actions)
