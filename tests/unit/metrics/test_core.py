from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.metrics import names
from ludus.metrics.core import RATE_REPORTS, Metrics


class Clock:
    """Nanoseconds that pass when told to."""

    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        return self.ns

    def pass_s(self, seconds: float) -> None:
        self.ns += round(seconds * 1e9)


def test_counters_keep_growing_and_means_begin_anew_with_each_report() -> None:
    metrics = Metrics()
    metrics.add(names.MATCHES, 3)
    metrics.observe(names.KL, 1.0)
    metrics.observe(names.KL, 4.0, weight=2.0)
    first = metrics.report()
    metrics.add(names.MATCHES)
    second = metrics.report()
    assert first[names.MATCHES] == 3
    assert first[names.KL] == pytest.approx(3.0)
    assert second[names.MATCHES] == 4
    assert names.KL not in second


def test_rates_are_steady_when_counters_grow_in_lumps() -> None:
    clock = Clock()
    metrics = Metrics(clock_ns=clock)
    rates = []
    for second in range(40):
        clock.pass_s(1.0)
        if second % 2:
            metrics.add(names.DECISIONS, 1000)
            metrics.add(names.MATCHES, 10)
        report = metrics.report()
        if second >= RATE_REPORTS:
            rates.append(report[names.DECISIONS_PER_S])
    assert rates == [pytest.approx(500)] * len(rates)
    assert report[names.MATCHES_PER_HOUR] == pytest.approx(5 * 3600)


def test_a_pause_for_an_evaluation_does_not_count_into_rates() -> None:
    clock = Clock()
    metrics = Metrics(clock_ns=clock)
    for second in range(1, 6):
        clock.pass_s(1.0)
        metrics.add(names.DECISIONS, 100)
        metrics.set(names.TRAINING_S, second)
        metrics.report()
    clock.pass_s(60.0)
    assert metrics.report()[names.DECISIONS_PER_S] == pytest.approx(100)


def test_counters_of_a_resumed_run_go_on_and_count_into_no_rate() -> None:
    clock = Clock()
    metrics = Metrics(clock_ns=clock)
    metrics.restore({names.DECISIONS: 1_000_000})
    metrics.add(names.DECISIONS, 50)
    clock.pass_s(1.0)
    report = metrics.report()
    assert report[names.DECISIONS] == 1_000_050
    assert report[names.DECISIONS_PER_S] == pytest.approx(50)


def test_a_stage_is_a_share_of_the_time_of_the_process_it_ran_in() -> None:
    learner_clock, actor_clock = Clock(), Clock()
    learner, actor = Metrics("learner", learner_clock), Metrics("actor", actor_clock)
    with actor.stage(names.POLICIES):
        actor_clock.pass_s(3.0)
    actor_clock.pass_s(1.0)
    with learner.stage(names.UPDATE):
        learner_clock.pass_s(1.0)
    learner_clock.pass_s(9.0)
    learner.merge(actor.drain())
    report = learner.report()
    assert report[names.SHARE(names.POLICIES)] == pytest.approx(0.75)
    assert report[names.SHARE(names.UPDATE)] == pytest.approx(0.1)


def test_in_one_process_the_stages_of_both_halves_share_its_time() -> None:
    clock = Clock()
    metrics = Metrics(clock_ns=clock)
    for stage, seconds in ((names.WAIT_HOSTS, 1.0), (names.UPDATE, 3.0)):
        with metrics.stage(stage):
            clock.pass_s(seconds)
    report = metrics.report()
    assert report[names.SHARE(names.WAIT_HOSTS)] == pytest.approx(0.25)
    assert report[names.SHARE(names.UPDATE)] == pytest.approx(0.75)


def test_a_stage_under_way_gives_each_report_its_own_part_of_the_time() -> None:
    clock = Clock()
    metrics = Metrics(clock_ns=clock)
    shares = []
    clock.pass_s(1.0)
    with metrics.stage(names.WAIT_BATCH):
        for seconds in (1.0, 2.0):
            clock.pass_s(seconds)
            shares.append(metrics.report()[names.SHARE(names.WAIT_BATCH)])
        clock.pass_s(1.0)
    clock.pass_s(3.0)
    shares.append(metrics.report()[names.SHARE(names.WAIT_BATCH)])
    assert shares == [pytest.approx(0.5), pytest.approx(1.0), pytest.approx(0.25)]


def test_a_stage_that_raises_is_timed_and_the_error_passes() -> None:
    clock = Clock()
    metrics = Metrics(clock_ns=clock)

    def lose() -> None:
        with metrics.stage(names.SEND):
            clock.pass_s(1.0)
            raise ValueError("lost")

    with pytest.raises(ValueError, match="lost"):
        lose()
    assert metrics.report()[names.SHARE(names.SEND)] == pytest.approx(1.0)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(st.sampled_from([names.DECISIONS, names.MATCHES]), st.integers(0, 1000), st.booleans()), max_size=30
    )
)
def test_merging_every_drain_loses_nothing(events: list[tuple[str, int, bool]]) -> None:
    actor, learner, alone = Metrics("actor"), Metrics(), Metrics()
    for name, value, drains in events:
        for metrics in (actor, alone):
            metrics.add(name, value)
            metrics.observe(names.LENGTH, value)
        if drains:
            learner.merge(json.loads(json.dumps(actor.drain().to_dict())))
    learner.merge(actor.drain())
    assert learner.counters() == alone.counters()
    assert learner.snapshot().get(names.LENGTH) == pytest.approx(alone.snapshot().get(names.LENGTH))


def test_numbers_are_reported_in_the_order_of_the_names_page() -> None:
    metrics = Metrics()
    metrics.set(names.WIN_RATE("random"), 0.9)
    metrics.set("stray", 1)
    metrics.set(names.WIN_RATE("heuristic"), 0.5)
    metrics.add(names.MATCHES)
    metrics.set(names.PROGRESS, 0.1)
    reported = list(metrics.snapshot())
    assert reported == [names.PROGRESS, names.MATCHES, names.WIN_RATE("heuristic"), names.WIN_RATE("random"), "stray"]
