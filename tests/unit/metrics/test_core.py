from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.clocks import Clock

from ludus.metrics import names
from ludus.metrics.core import BUFFERED, HALF_LIFE_S, RATE_REPORTS, Delta, Metrics
from ludus.metrics.times import ACTOR, HOSTS, LEARNER, Times
from ludus.wire.durations import Durations


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


def test_counts_made_before_a_checkpoint_is_restored_are_kept() -> None:
    metrics = Metrics()
    metrics.add(names.BEGUN_ANEW)
    metrics.restore({names.BEGUN_ANEW: 2})
    assert metrics.counter(names.BEGUN_ANEW) == 3


def test_a_total_kept_elsewhere_adds_its_growth_and_survives_a_resume() -> None:
    fleet = Metrics("actor")
    learner = Metrics()
    learner.restore({names.HOSTS_RESTARTS: 4})
    for total in (0, 1, 1, 3):
        fleet.grow(names.HOSTS_RESTARTS, total)
        learner.merge(fleet.drain())
    assert learner.report()[names.HOSTS_RESTARTS] == 7


def test_a_total_that_began_again_at_zero_adds_all_of_itself() -> None:
    metrics = Metrics()
    for total in (5, 2, 3):
        metrics.grow(names.SERVERS_RESTARTS, total)
    assert metrics.counter(names.SERVERS_RESTARTS) == 8


def test_an_activity_is_a_share_of_the_time_of_the_process_it_ran_in() -> None:
    learner_clock, actor_clock = Clock(), Clock()
    learner, actor = Metrics("learner", learner_clock), Metrics("actor", actor_clock)
    with actor.activity(names.POLICIES):
        actor_clock.pass_s(3.0)
    actor_clock.pass_s(1.0)
    with learner.activity(names.UPDATE):
        learner_clock.pass_s(1.0)
    learner_clock.pass_s(9.0)
    learner.merge(actor.drain())
    report = learner.report()
    assert report[names.SHARE(names.POLICIES)] == pytest.approx(0.75)
    assert report[names.SHARE(names.UPDATE)] == pytest.approx(0.1)


def test_shares_of_each_process_sum_to_the_whole_of_its_own_time() -> None:
    clock = Clock()
    learner, actor = Metrics("learner", clock), Metrics("actor", clock)
    for activity, seconds in ((names.WAIT_HOSTS, 1.0), (names.POLICIES, 2.0)):
        with actor.activity(activity):
            clock.pass_s(seconds)
    with learner.activity(names.UPDATE):
        clock.pass_s(3.0)
    actor.merge_times(Times({HOSTS: 8e9}, {names.HOST_WAIT: Durations.of([6_000_000_000])}))
    learner.merge(actor.drain())
    report = learner.report()
    assert report[names.SHARE(names.HOST_WAIT)] == pytest.approx(0.75)
    assert report[names.SHARE(names.WAIT_HOSTS)] == pytest.approx(1 / 6)
    assert report[names.SHARE(names.UPDATE)] == pytest.approx(0.5)
    for process in (HOSTS, ACTOR, LEARNER):
        shares = [value for name, value in report.items() if name.startswith(f"share/{process}/")]
        assert sum(float(share) for share in shares) == pytest.approx(1.0)


def test_a_pass_is_counted_with_its_whole_length_when_it_ends() -> None:
    clock = Clock()
    metrics = Metrics(clock_ns=clock)
    with metrics.activity(names.WAIT_BATCH):
        clock.pass_s(1.0)
        metrics.report()
        clock.pass_s(3.0)
    report = metrics.report()
    assert report[names.P50_MS(names.WAIT_BATCH)] == pytest.approx(4000, rel=0.13)
    assert metrics.times().activities[names.WAIT_BATCH].total_ns == pytest.approx(4e9)


def test_many_passes_take_a_bounded_room() -> None:
    clock = Clock()
    metrics = Metrics(clock_ns=clock)
    timer = metrics.activity(names.SEND)
    for _ in range(3 * BUFFERED + 5):
        with timer:
            clock.pass_s(1e-3)
    assert len(timer._spent_ns) < BUFFERED
    found = timer.take()
    assert found.passes == 3 * BUFFERED + 5
    assert found.total_ns == pytest.approx((3 * BUFFERED + 5) * 1e6)


def test_an_evaluation_leaves_the_shares_of_the_training_before_it_as_they_were() -> None:
    clock = Clock()
    metrics = Metrics(clock_ns=clock)

    def train() -> dict[str, float | str]:
        with metrics.activity(names.UPDATE):
            clock.pass_s(0.75)
        clock.pass_s(0.25)
        return metrics.report()

    with metrics.activity(names.START):
        clock.pass_s(9.0)
    metrics.report()
    before = train()
    with metrics.activity(names.EVALUATE):
        clock.pass_s(30.0)
        metrics.report()
        clock.pass_s(1.0)
    after, later = metrics.report(), train()
    for report in (before, after, later):
        assert report[names.SHARE(names.UPDATE)] == pytest.approx(0.75)
        assert names.SHARE(names.EVALUATE) not in report or report[names.SHARE(names.EVALUATE)] == 0.0
    assert metrics.times().share(names.EVALUATE) == pytest.approx(31 / 42)


def test_shares_follow_what_the_run_does_lately() -> None:
    clock = Clock()
    metrics = Metrics(clock_ns=clock)
    for activity in (names.WAIT_BATCH, names.UPDATE):
        for _ in range(round(HALF_LIFE_S)):
            with metrics.activity(activity):
                clock.pass_s(1.0)
            report = metrics.report()
    assert report[names.SHARE(names.UPDATE)] == pytest.approx(2 / 3, rel=0.05)


def test_the_times_of_a_resumed_run_go_on() -> None:
    clock = Clock()
    metrics = Metrics(clock_ns=clock)
    metrics.restore({}, Times({LEARNER: 3e9}, {names.UPDATE: Durations.of([3_000_000_000])}))
    clock.pass_s(1.0)
    report = metrics.report()
    assert names.SHARE(names.UPDATE) not in report
    assert metrics.times().share(names.UPDATE) == pytest.approx(0.75)


def test_activities_can_be_left_out() -> None:
    metrics = Metrics(timed=False)
    with metrics.activity(names.UPDATE):
        pass
    assert metrics.drain().times.activities[names.UPDATE].passes == 0


def test_an_activity_under_way_gives_each_window_its_own_part_of_the_time() -> None:
    clock = Clock()
    metrics = Metrics(clock_ns=clock)
    shares = []
    clock.pass_s(1.0)
    with metrics.activity(names.WAIT_BATCH):
        for seconds in (1.0, 2.0):
            clock.pass_s(seconds)
            shares.append(metrics.drain().times.share(names.WAIT_BATCH))
        clock.pass_s(1.0)
    clock.pass_s(3.0)
    shares.append(metrics.drain().times.share(names.WAIT_BATCH))
    assert shares == [pytest.approx(0.5), pytest.approx(1.0), pytest.approx(0.25)]


def test_an_activity_that_raises_is_timed_and_the_error_passes() -> None:
    clock = Clock()
    metrics = Metrics(clock_ns=clock)

    def lose() -> None:
        with metrics.activity(names.PUBLISH):
            clock.pass_s(1.0)
            raise ValueError("lost")

    with pytest.raises(ValueError, match="lost"):
        lose()
    assert metrics.report()[names.SHARE(names.PUBLISH)] == pytest.approx(1.0)


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
        with actor.activity(names.SEND):
            pass
        if drains:
            learner.merge(msgspec.msgpack.decode(msgspec.msgpack.encode(actor.drain()), type=Delta))
    learner.merge(actor.drain())
    assert learner.counters() == alone.counters()
    assert learner.snapshot().get(names.LENGTH) == pytest.approx(alone.snapshot().get(names.LENGTH))
    learner.report()
    assert learner.times().activities.get(names.SEND, Durations()).passes == len(events)


def test_numbers_are_reported_in_the_order_of_the_names_page() -> None:
    metrics = Metrics()
    metrics.set(names.WIN_RATE("random"), 0.9)
    metrics.set("stray", 1)
    metrics.set(names.WIN_RATE("heuristic"), 0.5)
    metrics.add(names.MATCHES)
    metrics.set(names.PROGRESS, 0.1)
    reported = list(metrics.snapshot())
    assert reported == [names.PROGRESS, names.MATCHES, names.WIN_RATE("heuristic"), names.WIN_RATE("random"), "stray"]
