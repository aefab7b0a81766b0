"""A run on a real Ray cluster of this machine, while actors, hosts and nodes are killed, stopped, refused and added."""

from __future__ import annotations

import logging
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests import clusters
from tests.running import ENDLESS, PATIENCE_S, Silent, Watch, counters, latest, small_run, with_updates

import ludus
from ludus import run
from ludus.actors import cluster_actor
from ludus.actors.resolved import resolve
from ludus.config.settings import ActorsConfig, CheckpointConfig, FleetConfig, OpponentsConfig, RunConfig
from ludus.metrics import accounts, names
from ludus.metrics.observer import Numbers
from ludus.run import RunResult, reporting
from ludus.run.folder import latest as latest_checkpoint

OTHER_ADDRESS = "127.0.0.2"  # of a node that joins
MATCHES = 2 * 8  # that run at once: actors with a host each, matches


@pytest.fixture(autouse=True)
def _progress_is_shown_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "PROGRESS_S", 0.05)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:  # Any: Ray's test cluster
    """Two nodes with one CPU each."""
    with clusters.started(1, 1) as cluster:
        yield cluster


Step = tuple[Callable[[], object], Callable[[Numbers], bool]]
"""What to do, and what the numbers show when it is over."""


class Saboteur(Watch):
    """Does one thing after the other while the run trains, and interrupts the run after the last one."""

    def __init__(self, *steps: Step) -> None:
        super().__init__()
        self._steps = [*steps, (lambda: signal.raise_signal(signal.SIGINT), lambda numbers: False)]
        self._over: Callable[[Numbers], bool] = both_play
        self._deadline_s = time.monotonic() + PATIENCE_S

    def on_progress(self, numbers: Numbers) -> None:
        super().on_progress(numbers)
        assert time.monotonic() < self._deadline_s, self.numbers
        if self._steps and self._over(self.numbers):
            act, self._over = self._steps.pop(0)
            self._deadline_s = time.monotonic() + PATIENCE_S
            act()


def both_play(numbers: Numbers) -> bool:
    return numbers.get(names.ACTORS_PLAYING) == 2 and float(numbers.get(names.UNDER_WAY, 0)) > MATCHES / 2


def on_nodes() -> list[psutil.Process]:
    """Return Ray's processes that run actors, and below them the actors' processes and their hosts."""
    family = psutil.Process().children(recursive=True)
    return [process for process in family if "ray::OnNode" in " ".join(process.cmdline())]


def config(updates: int = ENDLESS, **changes: object) -> RunConfig:
    fleet = FleetConfig(matches=8, backoff_s=0.01, failures_in_a_row=3)
    opponents = OpponentsConfig(past=0.3, scripted=0.0, snapshot_every=3)
    given = {"options": {"game": "nim"}, "fleet": fleet, "opponents": opponents, **changes}
    return small_run(updates, mode="overlapped", **given)


def train(config: RunConfig, run_dir: Path, cluster: Any, observer: Any, *, resume: bool = False) -> RunResult:
    """Train on a cluster. Any: Ray's test cluster, and an observer."""
    with clusters.environment():
        there = replace(resolve(config), cluster=cluster.address)
        return run.train(there, run_dir, resume=resume, observer=observer)


def assert_nothing_is_left() -> None:
    _, alive = psutil.wait_procs(on_nodes(), timeout=PATIENCE_S)
    assert alive == []


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
    run_dir = tmp_path / "run"
    sets = ("budget.minutes=0", "budget.updates=1000000", "checkpoint.every_s=1", "evaluation.every_updates=100000000")
    words = [word for each in sets for word in ("--set", each)]
    command = [sys.executable, "-m", "ludus", "train", "nim", "--run-dir", str(run_dir), *words, "--cluster"]

    def starts() -> int:
        path = run_dir / "starts.jsonl"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def until(holds: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + 2 * PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline_s, output.read_text()
            time.sleep(0.2)

    def grows() -> Callable[[], bool]:
        before = latest_checkpoint(run_dir)
        return lambda: latest_checkpoint(run_dir) not in (None, before)

    output = tmp_path / "output"
    with ExitStack() as stack, output.open("w") as log:
        head = stack.enter_context(clusters.started(1))
        with clusters.environment():
            parent = subprocess.Popen([*command, head.address], stdout=log, stderr=log)
        stack.callback(parent.kill)
        until(grows())
        psutil.Process(parent.pid).children()[0].kill()
        until(lambda: starts() == 2)
        until(grows())
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(PATIENCE_S) == 130
    assert "going on from u0" in output.read_text()
