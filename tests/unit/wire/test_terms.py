"""Events that report reward terms: what is read, what is left to others, and what is refused."""

from __future__ import annotations

import pytest

from ludus.errors import ProtocolError
from ludus.metrics import names
from ludus.metrics import reward_terms as metrics
from ludus.wire import terms as reward_terms


def test_a_report_is_read_as_it_was_written() -> None:
    terms = {"goal": [1.0, 0.0]}
    assert reward_terms.read(reward_terms.event(7, terms), 2) == (7, terms)
    assert reward_terms.read({"connected": True}, 2) is None


def test_the_facts_of_terms_are_those_that_the_metrics_know() -> None:
    name, seat = reward_terms.fact("goal", 1).split("@")
    assert (metrics.term_of(names.FACT(name)), seat) == ("goal", "1")


@pytest.mark.parametrize(
    "report",
    [
        [],
        {"match": "7", "terms": {}},
        {"match": 7},
        {"match": 7, "terms": {"goal": [1.0]}},
        {"match": 7, "terms": {"goal": [1.0, "2"]}},
        {"match": 7, "terms": {"goal": [1.0, 1e300]}},
        {"match": 7, "terms": {"": [1.0, 2.0]}},
        {"match": 7, "terms": {"goal@0": [1.0, 2.0]}},
        {"match": 7, "terms": {f"term {number}": [1.0, 2.0] for number in range(65)}},
    ],
)
def test_malformed_reports_are_refused(report: object) -> None:
    with pytest.raises(ProtocolError, match="the host reported reward term"):
        reward_terms.read({"reward_terms": report}, 2)
