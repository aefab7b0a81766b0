from __future__ import annotations

import pytest

from ludus.metrics import names
from ludus.metrics.bottleneck import loads, sentence

BUSY_HOSTS = {
    names.HOST_WAIT: 0.07,
    names.HOST_SIMULATE: 0.61,
    names.HOST_ENCODE: 0.3,
    names.WAIT_HOSTS: 0.7,
    names.POLICIES: 0.2,
}


def test_busy_hosts_are_named_with_what_they_do_most() -> None:
    line = sentence(BUSY_HOSTS, hosts=2, cores=2)
    assert line == "The hosts are busy 93% (simulate 61%): more will not help on 2 cores."
    assert "more may help" in sentence(BUSY_HOSTS, hosts=2, cores=8)


def test_an_evaluation_names_the_busiest_process_without_advice_for_a_training() -> None:
    assert sentence(BUSY_HOSTS, hosts=2, cores=2, advises=False) == "Busiest: hosts, 93% (simulate 61%)."
    idle = {names.HOST_WAIT: 0.6, names.HOST_SIMULATE: 0.4, names.WAIT_HOSTS: 0.5, names.POLICIES: 0.5}
    assert sentence(idle, hosts=2, cores=2, advises=False).startswith("Nobody is always busy (")
    assert "more" not in sentence(idle, hosts=2, cores=2, advises=False)


def test_a_busy_actor_is_named_when_the_hosts_wait_for_it() -> None:
    shares = {names.HOST_WAIT: 0.6, names.HOST_SIMULATE: 0.4, names.WAIT_HOSTS: 0.05, names.POLICIES: 0.8}
    assert sentence(shares, hosts=2, cores=2).startswith("The actor is busy 95% (policies 80%)")


def test_more_actors_are_advised_where_cores_are_free_and_each_would_have_a_host() -> None:
    shares = {names.HOST_WAIT: 0.6, names.HOST_SIMULATE: 0.4, names.WAIT_HOSTS: 0.05, names.POLICIES: 0.8}
    line = sentence(shares, hosts=16, cores=16)
    assert line == "The actor is busy 95% (policies 80%): more actors may help."
    assert sentence(shares, hosts=16, cores=16, actors=2).startswith("2 actors are busy 95%")
    assert "more actors" not in sentence(shares, hosts=16, cores=7)
    assert "more actors" not in sentence(shares, hosts=1, cores=16)


def test_a_learner_is_the_bottleneck_only_where_the_actor_waits_for_it() -> None:
    shares = {**BUSY_HOSTS, names.UPDATE: 0.96, names.WAIT_BATCH: 0.02, names.HAND_OVER: 0.0}
    assert sentence(shares, hosts=1, cores=4).startswith("The hosts are busy")
    shares |= {names.HAND_OVER: 0.4, names.HOST_WAIT: 0.5}
    assert sentence(shares, hosts=1, cores=4).startswith("The learner is busy 98% (update 96%)")


def test_nobody_is_named_when_all_wait_for_each_other() -> None:
    shares = {names.HOST_WAIT: 0.5, names.WAIT_HOSTS: 0.4, names.POLICIES: 0.6}
    line = sentence(shares, hosts=1, cores=4)
    assert line == "Nobody is always busy (hosts 50%, actor 60%): try more matches."


def test_an_evaluation_makes_no_learner_busy() -> None:
    found = loads({names.EVALUATE: 0.5, names.WAIT_BATCH: 0.25, names.UPDATE: 0.25})
    assert found["learner"].busy == pytest.approx(0.5)
    assert found["learner"].part_share == pytest.approx(0.5)


def test_nothing_is_said_before_anything_was_measured() -> None:
    assert sentence({}, hosts=1, cores=1) == ""


def test_the_line_fits_a_terminal_of_80_columns_whoever_is_named() -> None:
    working = [
        activity.name
        for activity in names.ACTIVITIES
        if "wait" not in activity.name and activity.name not in names.BREAKS
    ]
    for activity in working:
        others = dict.fromkeys((names.HOST_WAIT, names.WAIT_HOSTS, names.WAIT_BATCH), 1.0)
        line = sentence({**others, names.HAND_OVER: 0.1, activity: 1.0}, hosts=100, cores=128)
        assert len(line) <= 80, line
    busy = {names.HOST_SIMULATE: 1.0, names.POLICIES: 1.0, names.UPDATE: 1.0}
    idle = {names.HOST_WAIT: 0.3, names.WAIT_HOSTS: 0.3, names.WAIT_BATCH: 0.3}
    for shares in (busy, {**idle, **dict.fromkeys(busy, 0.7)}):
        assert 0 < len(sentence(shares, hosts=100, cores=128)) <= 80
