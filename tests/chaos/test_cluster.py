"""A run on a real Ray cluster of this machine, while actors, hosts and nodes are killed, stopped, refused and added."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests import clusters
from tests.running import ENDLESS, PATIENCE_S, Silent, Watch, counters, latest, small_run, with_updates

from ludus import run
from ludus.actors import remote
from ludus.actors.resolved import resolve
from ludus.config.settings import CheckpointConfig, FleetConfig, OpponentsConfig, RunConfig
from ludus.metrics import accounts, names
from ludus.metrics.observer import Numbers
from ludus.run import RunResult, reporting

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
    monkeypatch.setattr(remote, "SILENCE_S", 4.0)
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
    again = train(with_updates(whole, result.version + 3), tmp_path, cluster, Silent(), resume=True)
    assert again.version == result.version + 3
    assert names.BEGUN_ANEW not in counters(again)  # the matches of both actors went on
    assert latest(again).exists()
