"""Real Ray clusters on this machine: a head and further nodes, each with its own raylet and CPUs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

STORE_BYTES = 80 << 20  # the smallest object store that Ray accepts
TOKEN = "a" * 40  # one for all clusters of a process, because Ray reads it once
WITH_TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN, "RAY_USAGE_STATS_ENABLED": "0"}


@contextmanager
def environment(**more: str) -> Iterator[None]:
    """Inside the block, Ray requires the token, and has no other settings than these."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("RAY_")]:
            patch.delenv(name)
        for name, value in {**WITH_TOKEN, **more}.items():
            patch.setenv(name, value)
        yield


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Inside the block, there is a folder for Ray, whose path is short, because its sockets are in it."""
    folder = tempfile.mkdtemp(prefix="ludus-ray-", dir="/tmp")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def started(*cpus: int, **head: object) -> Iterator[Any]:  # Any: Ray's test cluster
    """Start a cluster with a node for each number of CPUs. The first one is its head."""
    with temporary_folder() as folder, environment(RAY_TMPDIR=folder):
        from ray.cluster_utils import Cluster

        (Path(folder) / "ray").mkdir()  # for the address of the head, which other clusters of this machine do not see
        first = {
            "num_cpus": cpus[0],
            "include_dashboard": False,
            "temp_dir": folder,
            "object_store_memory": STORE_BYTES,
        }
        cluster: Any = Cluster(initialize_head=True, head_node_args={**first, **head})
        try:
            for each in cpus[1:]:
                add(cluster, each)
            yield cluster
        finally:
            cluster.shutdown()


def add(cluster: Any, cpus: int, **node: object) -> Any:  # Any: Ray's test cluster, and its node
    """Add a node, and wait until it has joined."""
    with environment():
        return cluster.add_node(num_cpus=cpus, **{"object_store_memory": STORE_BYTES, **node})
