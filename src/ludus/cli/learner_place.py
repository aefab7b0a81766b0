"""Where the learner of a run on a cluster computes: on this machine, or on a node with a GPU (`--learner`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ludus.cli import unattended
from ludus.errors import ConfigError, SetupError

if TYPE_CHECKING:
    from ludus.actors.resolved import ResolvedRun

AUTO, HERE, NODE = "auto", "here", "node"
WHERE = "docs/cluster.md"


def checked(learner: str | None, cluster: str | None) -> str:
    """Return where the learner may be. Raises ConfigError for another word, or if it is given without a cluster."""
    if learner is not None and learner not in (AUTO, HERE, NODE):
        raise ConfigError(f"--learner: expected {AUTO}, {HERE} or {NODE}, got {learner!r}")
    if learner is not None and cluster is None:
        raise ConfigError("--learner: without --cluster, the learner is on this machine; leave --learner out")
    return learner or (HERE if cluster is None else AUTO)


def may_be_elsewhere(learner: str, run: ResolvedRun) -> bool:
    """Return whether a node may learn better than this machine: the device is chosen by ludus, and there is no GPU."""
    return learner == AUTO and run.config.device == "auto" and run.learner_device.type == "cpu"


def train_elsewhere(words: Callable[[str], Sequence[str]], folder: Path, cluster: str, learner: str) -> int | None:
    """Let a node with a GPU run `ludus` with `words(ADDRESS OF THE HEAD)`, and return its exit code.

    Returns None if this machine must learn, which `--learner node` refuses with a SetupError. Raises ClusterLost if the
    node or the process is lost.
    """
    from ludus.actors import placed_learner, ray_cluster

    with ray_cluster.connected(cluster) as nodes:
        if not any(node.gpus >= nodes.learner_gpu for node in nodes.nodes.alive):
            if learner == NODE:
                raise SetupError(f"--learner node: no node of the Ray cluster {cluster} that may play has a GPU")
            return None
        try:
            return placed_learner.train(nodes.place_learner(), words(nodes.head), folder, {unattended.CHILD: "1"})
        except placed_learner.Unshared as error:
            advice = "mount it there under the same path, or start ludus on that node"
            if learner == NODE:
                raise SetupError(f"--learner node: {error}; {advice} ({WHERE})") from None
            typer.echo(f"ludus: this machine learns, without a GPU: {error}; {advice} ({WHERE})", err=True)
            return None
