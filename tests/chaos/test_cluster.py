"""A run on a real Ray cluster of this machine, while actors, hosts and nodes are killed, stopped, refused and added."""

from __future__ import annotations

import logging
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests import clusters
from tests.cluster_runs import (
    MATCHES,
    Command,
    Saboteur,
    assert_nothing_is_left,
    both_play,
    config,
    learners,
    on_nodes,
    train,
)
from tests.running import PATIENCE_S, Silent, Watch, counters, latest, with_updates

import ludus
from ludus.actors import cluster_actor
from ludus.config.settings import ActorsConfig, CheckpointConfig
from ludus.metrics import accounts, names
from ludus.metrics.observer import Numbers
from ludus.run import reporting

OTHER_ADDRESS = "127.0.0.2"  # of a node that joins


@pytest.fixture(autouse=True)
def _progress_is_shown_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "PROGRESS_S", 0.05)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:  # Any: Ray's test cluster
    """Two nodes with one CPU each."""
    with clusters.started(1, 1) as cluster:
        yield cluster


@pytest.mark.slow
def test_killed_actors_and_lost_nodes_are_replaced_and_what_they_cost_is_counted(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_actor, "SILENCE_S", 4.0)
    hosts: list[psutil.Process] = []

    def kill() -> None:
        victim = on_nodes()[0]
        hosts.extend(victim.children(recursive=True))
        victim.kill()

    def lose_a_node() -> None:
        cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)

    saboteur = Saboteur(
        (kill, lambda numbers: both_play(numbers) and numbers.get(names.ACTOR_RESTARTS) == 1),
        (lambda: on_nodes()[0].suspend(), lambda numbers: both_play(numbers) and numbers[names.ACTOR_RESTARTS] == 2),
        (lose_a_node, lambda numbers: numbers.get(names.ACTORS_PLAYING) == 1 and numbers.get(names.NODES_LOST) == 1),
        (lambda: clusters.add(cluster, 1), both_play),
    )
    whole = config(checkpoint=CheckpointConfig(every_s=1.0))
    result = train(whole, tmp_path, cluster, saboteur)
    assert result.interrupted
    assert_nothing_is_left()
    assert psutil.wait_procs(hosts, timeout=PATIENCE_S)[1] == []
    counted = counters(result)
    assert 0 < counted[names.VOIDED_BY(accounts.ACTOR)] <= MATCHES / 2
    assert 0 < counted[names.VOIDED_BY(accounts.NODE)] <= MATCHES
    assert 0 < accounts.under_way(counted) <= MATCHES
    assert sum(count for name, count in counted.items() if names.NODE_ACTOR_RESTARTS.end(name)) >= 2
    again = train(with_updates(whole, result.version + 3), tmp_path, cluster, Silent(), resume=True)
    assert again.version == result.version + 3
    assert names.BEGUN_ANEW not in counters(again)  # the matches of both actors went on
    assert latest(again).exists()


def test_run_adds_an_actor_for_a_node_that_joins(
    cluster: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nodes: list[Any] = []  # Any: Ray's node

    def join() -> None:
        nodes.append(clusters.add(cluster, 1, node_ip_address=OTHER_ADDRESS))

    def three_play(numbers: Numbers) -> bool:
        decisions = float(numbers.get(names.NODE_DECISIONS(OTHER_ADDRESS), 0))
        return numbers.get(names.ACTORS_PLAYING) == numbers.get(names.HOSTS_ALIVE) == 3 and decisions > 0

    try:
        with caplog.at_level(logging.INFO):
            result = train(config(), tmp_path, cluster, Saboteur((join, three_play)))
    finally:
        for node in nodes:
            cluster.remove_node(node)
    assert result.interrupted
    assert_nothing_is_left()
    assert counters(result)[names.ACTORS_ADDED] == 1
    assert "actor 2 with 1 hosts is added" in caplog.text
    assert 0 < accounts.under_way(counters(result)) <= 3 / 2 * MATCHES


@pytest.mark.slow
def test_node_with_another_version_may_not_play_and_the_run_goes_on_without_it(
    cluster: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = tmp_path / "other" / "ludus"
    shutil.copytree(Path(ludus.__file__).parent, other, ignore=shutil.ignore_patterns("__pycache__"))
    source = (other / "__init__.py").read_text()
    (other / "__init__.py").write_text(source.replace(f'"{ludus.__version__}"', '"0.0.9"'))
    node = clusters.add(cluster, 1, env_vars={"PYTHONPATH": str(other.parent)})
    try:
        watch = Watch()
        result = train(config(3, actors=ActorsConfig(count=2)), tmp_path / "run", cluster, watch)
        assert result.version == 3
        assert watch.numbers[names.NODES_REFUSED] == 1
        assert f"may not play: it has ludus 0.0.9, this machine has {ludus.__version__}" in caplog.text
    finally:
        cluster.remove_node(node)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_command_continues_a_run_whose_learner_is_killed(tmp_path: Path) -> None:
    command = Command(tmp_path)
    with clusters.started(1) as head, command.running(head.address) as parent:
        command.until_saved_again()
        psutil.Process(parent.pid).children()[0].kill()
        command.until(lambda: command.starts == 2)
        command.until_saved_again()
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(PATIENCE_S) == 130
    assert "going on from u0" in command.output


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_learner_is_placed_on_a_node_with_a_gpu_and_goes_on_elsewhere_when_it_or_its_node_is_lost(
    tmp_path: Path,
) -> None:
    command = Command(tmp_path)
    with clusters.started(1) as cluster:
        first = clusters.add(cluster, 0, num_gpus=1, node_ip_address=OTHER_ADDRESS)
        with command.running(cluster.address) as parent:
            command.until_saved_again()
            assert f"the learner runs on node {OTHER_ADDRESS}" in command.output
            (learner,) = learners()
            learner.kill()
            command.until(lambda: command.starts == 2)
            command.until_saved_again()
            clusters.add(cluster, 0, num_gpus=1, node_ip_address="127.0.0.3")
            cluster.remove_node(first, allow_graceful=False)
            command.until(lambda: command.starts == 3)
            command.until_saved_again()
            assert "the learner runs on node 127.0.0.3" in command.output
            parent.send_signal(signal.SIGTERM)
            assert parent.wait(PATIENCE_S) == 130
        assert psutil.wait_procs(learners(), timeout=PATIENCE_S)[1] == []
        assert_nothing_is_left()
    assert f"the learner on node {OTHER_ADDRESS} was ended by signal 9" in command.output
