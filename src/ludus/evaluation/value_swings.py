"""Measures how much the players' value estimates changed in a match: a winner that expected to lose, a loser that
expected to win."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludus.types import Arrivals, Choices, Ending

Values = NDArray[np.float32]


class ValueSwings:
    """Follows the value estimates of all seats in the matches of one list. Policies without a value head have no swing:
    their estimates are 0."""

    def __init__(self, matches: int, seats: int) -> None:
        self._low, self._high, self._last = (np.full((matches, seats), np.nan, np.float32) for _ in range(3))

    def observe(self, arrivals: Arrivals, choices: Choices) -> None:
        """Note the estimates of these rows."""
        place = arrivals.match, arrivals.row % self._last.shape[1]
        value = np.asarray(choices.value, np.float32)
        opens = arrivals.opens  # also of a match that was voided and is played again
        self._low[place] = np.where(opens, value, np.fmin(self._low[place], value))
        self._high[place] = np.where(opens, value, np.fmax(self._high[place], value))
        self._last[place] = value

    def of(self, ending: Ending) -> float:
        """Return the swing of a match that has ended: by how much the estimate of a winner rose from its lowest point,
        or that of a loser fell from its highest one, whichever is more."""
        low, high, last = (each[ending.match] for each in (self._low, self._high, self._last))
        winners = ending.score == ending.score.max()
        swing = np.where(winners, last - low, high - last)
        if winners.all() or not np.isfinite(swing).any():
            return 0.0
        return float(np.nanmax(swing))
