"""How the CPUs of a cluster become actors, and which nodes and addresses are refused."""

from __future__ import annotations

import msgspec
import pytest
from tests.running import small_run

from ludus.actors import cluster
from ludus.actors.cluster import Node, Versions
from ludus.actors.resolved import on_cluster, pack, resolve, unpack
from ludus.config.settings import (
    ActorsConfig,
    DataConfig,
    FleetConfig,
    LearnerConfig,
    PolicyConfig,
    RolloutConfig,
    RunConfig,
    ServersConfig,
)
from ludus.errors import ConfigError

HERE = Versions("1.0", "abc", "3.11")


def config(count: int = 0, hosts: int = 0, *, segments: int = 256) -> RunConfig:
    return small_run(
        mode="overlapped",
        actors=ActorsConfig(count=count),
        fleet=FleetConfig(hosts=hosts, matches=8),
        rollout=RolloutConfig(segment=8),
        learner=LearnerConfig(decisions=8 * segments),
    )


@pytest.mark.parametrize(
    ("cpus", "actors", "hosts"),
    [
        ([1, 1], 2, 2),
        ([2], 1, 2),
        ([16, 16], 6, 30),  # three actors with five hosts each on a node
        ([64, 2], 10, 60),  # almost all CPUs are enough
        ([4, 0, 4], 2, 8),  # the head has no CPUs for actors
    ],
)
def test_actors_use_almost_all_cpus(cpus: list[int], actors: int, hosts: int) -> None:
    divided = cluster.divide(config(), cpus)
    assert (divided.actors, divided.hosts) == (actors, hosts)


def test_a_number_of_actors_need_not_divide_the_batch_on_a_cluster() -> None:
    divided = cluster.divide(config(), [5] * 12)
    assert (divided.actors, divided.parts) == (12, 16)
    assert cluster.divide(config(segments=4), [1] * 9).actors == 4


def test_batches_have_parts_for_actors_of_nodes_that_join_unless_the_numbers_are_set() -> None:
    assert cluster.divide(config(), [6, 6]).parts == 4
    assert cluster.divide(config(), [6]).parts == 2
    assert cluster.divide(config(count=2), [6, 6]).parts == 2
    assert cluster.divide(config(hosts=12), [6, 6]).parts == 2


@pytest.mark.parametrize(
    ("free", "waiting", "room", "added"),
    [
        ([6], [], 9, [6]),
        ([8, 3], [], 9, [4, 4, 3]),  # at most 6 hosts each
        ([8, 3], [], 2, [4, 4]),
        ([8, 3], [], 0, []),
        ([6, 6], [6], 9, [6]),  # an actor without a node comes first
        ([2], [2], 9, []),
        ([2], [6], 9, [2]),  # for it there is no room
        ([0, -1], [], 9, []),
    ],
)
def test_actors_are_added_for_free_cpus(free: list[int], waiting: list[int], room: int, added: list[int]) -> None:
    assert cluster.additions(free, waiting, each=6, room=room) == added


def test_configured_actors_and_hosts_are_kept_even_if_there_is_no_room_for_all_now() -> None:
    assert cluster.divide(config(count=4, hosts=8), [2]).hosts == 8
    assert cluster.divide(config(count=4), [2, 2]).hosts == 4
    assert cluster.divide(config(hosts=6), [2]).actors == 3


def test_a_cluster_without_cpus_is_refused() -> None:
    with pytest.raises(ConfigError, match="no node of the cluster has a CPU"):
        cluster.divide(config(), [0])


@pytest.mark.parametrize(
    ("theirs", "words"),
    [
        (Versions("1.1", "abc", "3.11"), "it has ludus 1.1, this machine has 1.0"),
        (Versions("1.0", "abc", "3.12"), "it has python 3.12, this machine has 3.11"),
        (Versions("1.0", "abd", "3.11"), r"its source code of ludus 1\.0 differs from this machine's \(abd, abc\)"),
    ],
)
def test_nodes_with_other_versions_are_told_apart(theirs: Versions, words: str) -> None:
    assert not cluster.difference(HERE, HERE)
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(cluster.difference(theirs, HERE))


@pytest.mark.parametrize("address", ["auto", "10.0.0.2:6379", "head.example:6379", "[::1]:6379"])
def test_addresses_of_clusters_are_accepted(address: str) -> None:
    cluster.refuse_address(address)


@pytest.mark.parametrize("address", ["", "ray://head:10001", "head", "head:port", ":6379"])
def test_other_addresses_are_refused_with_what_is_expected(address: str) -> None:
    with pytest.raises(ConfigError, match="expected auto or HOST:PORT"):
        cluster.refuse_address(address)


def test_the_loopback_address_of_a_dashboard_is_known() -> None:
    assert cluster.is_loopback("127.0.0.1:8265")
    assert cluster.is_loopback("[::1]:8265")
    assert not cluster.is_loopback("10.0.0.2:8265")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mode": "serial"}, "mode: serial plays in the learner's process"),
        ({"servers": ServersConfig(count=2)}, "hosts of other nodes cannot reach them"),
        ({"data": DataConfig(folder="data")}, "learns from a dataset has no actors"),
    ],
)
def test_runs_that_cannot_play_on_a_cluster_are_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        cluster.refuse_unfit(msgspec.structs.replace(config(), **changes))


def test_a_run_on_a_cluster_reaches_its_actors_as_it_was_divided() -> None:
    nodes = [Node("a", "10.0.0.2", 4), Node("b", "10.0.0.3", 4)]
    run = on_cluster(resolve(config(segments=32)), nodes)
    assert (run.hosts, run.actors.actors, run.cores) == (8, 2, 8)
    second = unpack(pack(run.for_actor(1)))
    assert (second.share.first_host, second.share.hosts, second.actors.batch_parts) == (4, 4, 2)


def test_policies_use_gpus_only_if_all_nodes_have_one_or_the_user_says_so() -> None:
    nodes = [Node("a", "10.0.0.2", 4, 1.0), Node("b", "10.0.0.3", 4)]
    assert on_cluster(resolve(config()), nodes).actor_device.device.type == "cpu"
    assert cluster.gpus_each(nodes, 3) == 0.3
    assert cluster.gpus_each(nodes, 1) == 0.9
    cpu = msgspec.structs.replace(config(), policy=PolicyConfig(device="cpu"))
    assert on_cluster(resolve(cpu), nodes[:1]).actor_device.device.type == "cpu"
