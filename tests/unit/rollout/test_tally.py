"""What matches tell is counted; what they tell of a seat, where it learns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from ludus.errors import ProtocolError
from ludus.fleet.interface import FleetHealth
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.metrics.times import MATCH_TIME
from ludus.policies.bank import PolicyBank
from ludus.rollout.tally import MatchMetrics
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals, Ending

SECOND_NS = 1_000_000_000
SCORE = np.array((1.0, 0.0), np.float32)
ROWS = [np.array((0, 1), np.int32), np.array((2, 3), np.int32)]


class Bank:
    """The learner plays the even rows."""

    def learning(self, row: NDArray[np.int32]) -> NDArray[np.bool_]:
        even: NDArray[np.bool_] = row % 2 == 0
        return even


def test_facts_of_a_seat_count_where_it_learns_and_facts_of_the_match_always() -> None:
    facts = {"turns": 7.0, "touches@0": 3.0, "touches@1": 100.0, "odd@9": 5.0, "@": 1.0}
    flat = _counted([Ending(match, rows, SCORE, SCORE, False, 0, facts) for match, rows in enumerate(ROWS)])
    assert flat[names.FACT("turns")] == 7.0
    assert flat[names.FACT("touches")] == 3.0
    assert flat[names.FACT("odd@9")] == 5.0


@pytest.mark.parametrize("cut_off", [0, 1, 2])
def test_matches_that_were_cut_off_are_counted_also_where_none_was(cut_off: int) -> None:
    endings = [Ending(match, rows, SCORE, SCORE, match < cut_off, 0) for match, rows in enumerate(ROWS)]
    flat = _counted(endings)
    assert flat[names.TRUNCATED] == cut_off
    assert flat[names.MATCHES] == len(ROWS)


def test_voided_matches_are_counted_by_the_fleet_alone_and_unseen_ones_have_begun() -> None:
    metrics = Metrics("actor")
    tally = MatchMetrics(metrics, rows=4)
    voided = Counter({"died": 3, "host: no server": 2, "host: no team": 1})
    tally.count_voided(FleetHealth(1, 0, voided=voided, unseen=4))
    tally.count_voided(FleetHealth(1, 0, voided=voided + Counter({"hung": 1}), unseen=5))
    counted = metrics.counters()
    assert counted[names.VOIDED] == 7
    reasons = {reason: counted[names.VOIDED_BY(reason)] for reason in ("died", "host", "hung")}
    assert reasons == {"died": 3, "host": 3, "hung": 1}
    assert counted[names.BEGUN] == 5


def test_an_ending_that_is_void_adds_its_decisions_and_no_match() -> None:
    flat = _counted([Ending(0, ROWS[0], SCORE, SCORE, False, 0, void="died")])
    assert flat[names.VOIDED_DECISIONS] == 0
    assert names.VOIDED not in flat
    assert names.MATCHES not in flat


def test_the_duration_of_a_match_is_counted_from_its_first_decision() -> None:
    times_ns = iter((10 * SECOND_NS, 12 * SECOND_NS, 15 * SECOND_NS, 20 * SECOND_NS, 25 * SECOND_NS))
    metrics, bank = Metrics("actor"), cast(PolicyBank, Bank())
    tally = MatchMetrics(metrics, 4, lambda: next(times_ns))
    tally.count(_arrivals([0, 1], opens=True), bank)  # at 10 s
    tally.count(_arrivals([2, 3], opens=True), bank)  # at 12 s
    tally.count(_arrivals([0, 1], opens=False), bank)  # at 15 s
    both = [Ending(match, rows, SCORE, SCORE, False, 0) for match, rows in enumerate(ROWS)]
    tally.count(_arrivals([], both[:1]), bank)  # at 20 s
    tally.restore(tally.state())  # as a resumed run: when its matches began is not known
    tally.count(_arrivals([], both[1:]), bank)
    delta = metrics.drain()
    assert delta.means[names.MATCH_S] == (10.0, 1.0)
    durations = delta.times.activities[MATCH_TIME]
    assert (durations.passes, durations.total_ns) == (1.0, 10.0 * SECOND_NS)


def _counted(endings: list[Ending]) -> Mapping[str, float | str]:
    metrics = Metrics("actor")
    MatchMetrics(metrics, rows=4).count(_arrivals([], endings), cast(PolicyBank, Bank()))
    return metrics.report()


def _arrivals(rows: list[int], endings: Sequence[Ending] = (), *, opens: bool = False) -> Arrivals:
    row, legal = np.array(rows, np.int32), np.ones((len(rows), 1), np.bool_)
    reward = np.zeros(len(rows), np.float32)
    opening = np.full(len(rows), opens)
    return Arrivals(row, row.astype(np.int64), legal.view(np.uint8), legal, reward, opening, tuple(endings))


def test_teams_are_those_that_the_layout_names_or_one_for_each_seat() -> None:
    obs = ObsSpec.pack({"state": ("float32", (1,))})
    assert GameSpec("g", 4, 2, obs, 1).teams == (0, 1, 2, 3)
    assert GameSpec("g", 4, 2, obs, 1, {"teams": [0, 0, 1, 1]}).teams == (0, 0, 1, 1)
    for wrong in ([0, 1], [0, 0, 2, 2], "0011"):
        with pytest.raises(ProtocolError, match=r"layout\.teams"):
            _ = GameSpec("g", 4, 2, obs, 1, {"teams": wrong}).teams
