from __future__ import annotations

import msgspec
import pytest

from ludus.config import familiar, load
from ludus.config.settings import FleetConfig, RunConfig
from ludus.errors import ConfigError


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    variant: str = "classic"
    clock_s: float = 60.0


def built(data: dict[str, object]) -> RunConfig:
    return load.build(data, options_of=lambda name: {"chess": Options}[name])


def test_what_follows_a_colon_is_the_first_option_colons_of_its_own_included() -> None:
    config = built({"game": "chess:my_module:Fischer"})
    assert (config.game, config.options["variant"]) == ("chess", "my_module:Fischer")
    assert familiar.title(config) == "chess my_module:Fischer"


def test_a_name_without_colon_leaves_the_first_option_at_its_default() -> None:
    assert built({"game": "chess"}).options["variant"] == "classic"


def test_a_colon_with_nothing_behind_it_and_a_contradiction_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"game: chess: ends with a colon; write after it variant"):
        built({"game": "chess:"})
    with pytest.raises(ConfigError, match=r"says options.variant is a, but it is 'b'"):
        built({"game": "chess:a", "options": {"variant": "b"}})
    assert built({"game": "chess:a", "options": {"variant": "a"}}).options["variant"] == "a"


@pytest.mark.parametrize(
    ("environments", "hosts", "cores", "expected"),
    [
        (64, 0, 2, (2, 32)),
        (1, 0, 8, (1, 1)),
        (6, 0, 4, (3, 2)),
        (7, 0, 4, (1, 7)),
        (12, 4, 1, (4, 3)),
        (2, 4, 1, (2, 1)),
    ],
)
def test_environments_are_shared_out_evenly(
    environments: int, hosts: int, cores: int, expected: tuple[int, int]
) -> None:
    fleet = familiar.shared_out(environments, FleetConfig(hosts=hosts), cores)
    assert (fleet.hosts, fleet.matches) == expected


def test_n_envs_counts_all_hosts_together() -> None:
    fleet = built({"game": "chess", "n_envs": 24, "fleet": {"hosts": 3}}).fleet
    assert (fleet.hosts, fleet.matches) == (3, 8)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"n_envs": 0}, "n_envs: must be a whole number, from 1 to 65536, but is 0"),
        ({"n_envs": "many"}, "n_envs: must be a whole number"),
        ({"n_envs": 4, "fleet": {"matches": 4}}, "fleet.matches is set; leave one out"),
        ({"n_envs": 5, "fleet": {"hosts": 2}}, "n_envs: 5 cannot be shared out evenly to fleet.hosts: 2"),
    ],
)
def test_an_n_envs_that_cannot_be_is_refused(data: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        built({"game": "chess", **data})


def test_where_a_game_is_installed_is_no_part_of_its_title() -> None:
    for options in ({"forge": "/opt/forge", "decks": "x"}, {"forge": ""}, {"decks": ""}, {}):
        assert familiar.title(RunConfig(game="forge", options=options)) == "forge"
