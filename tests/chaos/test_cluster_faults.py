"""Faults of clusters that take longer: stopped raylets and learners, a full object store, a head that restarts, and a
node that is cut off from the network and returns."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest
from tests import clusters
from tests.cluster_runs import MATCHES, Command, Saboteur, assert_nothing_is_left, config, train
from tests.running import PATIENCE_S, counters

from ludus.metrics import accounts, names
from ludus.metrics.observer import Numbers
from ludus.run import reporting

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
# how soon the head notices that a raylet does not answer
SOON = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
RAY = (sys.executable, "-m", "ray.scripts.scripts")
PORT = 6390
SILENT_S = 40.0  # longer than the learner and its nodes wait for each other


def test_full_store_stops_nothing_and_a_stopped_raylet_is_a_lost_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "PROGRESS_S", 0.05)
    full: list[object] = []
    updates: list[float] = []

    def fill() -> None:
        import ray

        full.extend(ray.put(np.ones(clusters.STORE_BYTES // 4, np.uint8)) for _ in range(5))
        updates.append(float(saboteur.numbers["progress/updates"]))

    def goes_on(numbers: Numbers) -> bool:
        return float(numbers["progress/updates"]) > updates[0] + 10

    def stop() -> None:
        (node,) = cluster.worker_nodes
        raylets.append(psutil.Process(node.all_processes["raylet"][0].process.pid))
        raylets[0].suspend()

    def one_plays(numbers: Numbers) -> bool:
        return numbers.get(names.ACTORS_PLAYING) == 1 and numbers.get(names.NODES_LOST) == 1

    raylets: list[psutil.Process] = []
    with clusters.started(1, 1, _system_config=SOON) as cluster:
        saboteur = Saboteur((fill, goes_on), (stop, one_plays))
        try:
            result = train(config(), tmp_path, cluster, saboteur)
        finally:
            full.clear()
            for raylet in raylets:
                raylet.resume()
        counted = counters(result)
        assert result.interrupted
        assert 0 < counted[names.VOIDED_BY(accounts.NODE)] <= MATCHES / 2
        assert_nothing_is_left()


def test_stopped_learner_loses_nothing_and_goes_on(tmp_path: Path) -> None:
    command = Command(tmp_path)
    with clusters.started(1) as head, command.running(head.address) as parent:
        command.until_saved_again()
        (learner,) = psutil.Process(parent.pid).children()
        learner.suspend()
        with pytest.raises(subprocess.TimeoutExpired):
            parent.wait(SILENT_S)
        learner.resume()
        command.until_saved_again()
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(PATIENCE_S) == 130
    assert command.starts == 1
    assert "are lost" not in command.output


def test_run_goes_on_when_the_head_is_killed_and_started_again(tmp_path: Path) -> None:
    command = Command(tmp_path)
    with ExitStack() as stack:
        with clusters.started(1, gcs_server_port=PORT) as first:
            stack.enter_context(command.running(first.address))
            command.until_saved_again()
            first.remove_node(first.head_node, allow_graceful=False)
            command.until(lambda: "going on from u0" in command.output)
        stack.enter_context(clusters.started(1, gcs_server_port=PORT))
        command.until(lambda: command.starts == 2)
        command.until_saved_again()
    assert "does not answer" in command.output


class Network:
    """Two network namespaces of this machine with a cable between them."""

    def __init__(self) -> None:
        self.head, self.node = f"ludus-h{os.getpid()}", f"ludus-n{os.getpid()}"

    @contextmanager
    def made(self) -> Iterator[None]:
        try:
            for name in (self.head, self.node):
                _ip("netns", "add", name)
                _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", self.head, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", self.node)
            for name, address in ((self.head, HEAD), (self.node, NODE)):
                _ip("-n", name, "address", "add", f"{address}/24", "dev", "cable")
                _ip("-n", name, "link", "set", "cable", "up")
            yield
        finally:
            for name in (self.head, self.node):
                pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
                for pid in pids.stdout.split():
                    os.kill(int(pid), signal.SIGKILL)
                subprocess.run(["ip", "netns", "delete", name], check=False)

    def start(self, name: str, *words: str) -> None:
        """Start a node of Ray in a namespace."""
        common = ("--num-cpus=1", f"--object-store-memory={clusters.STORE_BYTES}", "--disable-usage-stats")
        inside = ("ip", "netns", "exec", name, *RAY, "start", *common, *words)
        subprocess.run(inside, check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def cut(self) -> None:
        _ip("-n", self.head, "link", "set", "cable", "down")

    def mend(self) -> None:
        _ip("-n", self.head, "link", "set", "cable", "up")


HEAD, NODE = "10.77.0.1", "10.77.0.2"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_node_that_is_cut_off_is_counted_and_plays_again_when_it_returns(tmp_path: Path) -> None:
    command, network = Command(tmp_path), Network()
    with ExitStack() as stack:
        folder = stack.enter_context(clusters.temporary_folder())
        stack.enter_context(clusters.environment(RAY_TMPDIR=folder))
        stack.enter_context(network.made())
        network.start(
            network.head, "--head", f"--node-ip-address={HEAD}", f"--port={PORT}", "--include-dashboard=false"
        )
        network.start(network.node, f"--address={HEAD}:{PORT}", f"--node-ip-address={NODE}")
        within = ("ip", "netns", "exec", network.head)
        parent = stack.enter_context(command.running(f"{HEAD}:{PORT}", within=within))
        command.until(lambda: command.output.count(f"on node {NODE} (pid") == 1)
        command.until_saved_again()
        network.cut()
        command.until(lambda: f"node {NODE} has left the cluster or was lost" in command.output)
        command.until(lambda: "matches and about" in command.output)
        command.until_saved_again()
        network.mend()
        network.start(network.node, f"--address={HEAD}:{PORT}", f"--node-ip-address={NODE}")
        command.until(lambda: command.output.count(f"on node {NODE} (pid") == 2)
        command.until_saved_again()
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(PATIENCE_S) == 130
