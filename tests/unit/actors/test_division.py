"""How many actors a run gets, and which hosts each of them has."""

from __future__ import annotations

import msgspec
import pytest
from tests.running import small_run

from ludus.actors import division
from ludus.actors.division import ActorShare
from ludus.actors.resolved import describe, pack, resolve, unpack
from ludus.config.settings import ActorsConfig, FleetConfig, LearnerConfig, RolloutConfig, RunConfig
from ludus.errors import ConfigError


def config(count: int = 0, *, segments: int = 32, mode: str = "overlapped") -> RunConfig:
    return small_run(
        mode=mode,
        actors=ActorsConfig(count=count),
        rollout=RolloutConfig(segment=8),
        learner=LearnerConfig(decisions=8 * segments),
    )


@pytest.mark.parametrize("cores", [1, 2, 4, 7])
def test_a_small_machine_gets_one_actor(cores: int) -> None:
    assert division.choose(config(), hosts=cores, cores=cores).actors == 1


def test_a_large_machine_gets_several_and_the_batch_can_be_divided_among_them() -> None:
    assert division.choose(config(segments=30), hosts=16, cores=16).actors == round(16 / division.HOSTS_EACH)
    uneven = division.choose(config(segments=32), hosts=16, cores=16)
    assert uneven.actors == 2
    assert "32 segments is not divisible by 3" in uneven.why


def test_a_serial_run_has_one_actor_however_large_the_machine() -> None:
    assert division.choose(config(mode="serial"), hosts=64, cores=64).actors == 1
    with pytest.raises(ConfigError, match=r"actors\.count: 2 actors need processes of their own, .* use 1"):
        division.choose(config(2, mode="serial"), hosts=4, cores=4)


def test_a_number_that_does_not_divide_the_batch_is_refused_with_the_nearest_that_does() -> None:
    with pytest.raises(ConfigError, match=r"has 32 segments .* 3 actors cannot share .* that fits is 2"):
        division.choose(config(3), hosts=8, cores=2)


def test_more_actors_than_hosts_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"4 actors need a host each, and the run has 2 hosts; use 2"):
        division.choose(config(4), hosts=2, cores=2)


@pytest.mark.parametrize(("hosts", "actors"), [(1, 1), (7, 3), (16, 4), (5, 5)])
def test_every_host_belongs_to_one_actor(hosts: int, actors: int) -> None:
    shares = division.shares(hosts, actors)
    assert [host for share in shares for host in range(share.first_host, share.first_host + share.hosts)] == list(
        range(hosts)
    )
    sizes = [share.hosts for share in shares]
    assert max(sizes) - min(sizes) <= 1


def test_an_actor_knows_its_share_in_another_process_and_draws_numbers_of_its_own() -> None:
    settings = msgspec.structs.replace(config(2), fleet=FleetConfig(hosts=3, matches=4))
    run = resolve(settings)
    first, second = (unpack(pack(run.for_actor(index))) for index in (0, 1))
    assert (first.share, second.share) == (ActorShare(0, 0, 1), ActorShare(1, 1, 2))
    assert (first.hosts, second.hosts) == (3, 3)
    assert first.actor_seed("sampling") == run.seed("sampling")
    assert second.actor_seed("sampling") != first.actor_seed("sampling")
    assert "actors: 2 (as configured)" in describe(run)
