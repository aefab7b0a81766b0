"""People and programs on a server, whose matches against a member count in its league."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from tests.disk import let_write, stop_writing
from tests.serving import save_checkpoint, served
from tests.unit.league.test_members import SPEC, league, saved

from ludus.api import league_outsiders, leagues
from ludus.api.league_outsiders import outsider_results
from ludus.api.league_servers import FrozenRemotePolicy
from ludus.errors import ConfigError, LeagueError
from ludus.games import registry
from ludus.league import results
from ludus.league.members import OUTSIDER, League

SERVER = "ws://127.0.0.1:8000/showdown/websocket"


@pytest.fixture
def there(tmp_path: Path) -> League:
    made = league(tmp_path)
    made.add_checkpoint(saved(tmp_path / "run"), "mine")
    made.add_scripted(registry.load("toy"), "random")
    return made


def test_outsiders_have_a_rating_and_are_never_asked_to_play(there: League) -> None:
    with outsider_results(there.folder, "mine", SERVER) as battles:
        for _ in range(20):
            battles.add("ash", 0.0, first=True)
            battles.add("misty", 1.0, first=False)
        battles.add("", 1.0, first=True)
    assert (battles.matches, battles.nameless) == (40, 1)
    ash = there.members()["outsider:ash"]
    assert (ash.kind, ash.origin) == (OUTSIDER, SERVER)
    table = leagues.table_of(there)
    assert table.results.trouble == ""
    assert [line.name for line in table.lines if line.matches] == ["outsider:ash", "mine", "outsider:misty"]
    assert int(table.payoff.pairs.sum()) == 0, "a match on a server has no twin with swapped sides"
    assert list(there.players()) == ["mine", "scripted:random"]
    assert leagues.play(there.folder, matches=2, hosts=1, seed=1).played.matches == 2
    with pytest.raises(ConfigError, match="outsider:ash cannot be asked to play"):
        leagues.play(there.folder, members=["mine", "outsider:ash"])


def test_the_side_of_a_record_is_the_one_that_was_played(there: League) -> None:
    with outsider_results(there.folder, "mine", SERVER) as battles:
        battles.add("ash", 1.0, first=True)
        battles.add("ash", 1.0, first=False)
    assert [(each.first, each.score) for each in results.read(there.folder).records] == [
        ("mine", 1.0),
        ("outsider:ash", 0.0),
    ]


def test_results_wait_in_memory_while_the_disk_is_full(there: League, caplog: pytest.LogCaptureFixture) -> None:
    with outsider_results(there.folder, "mine", SERVER) as battles:
        battles.add("ash", 1.0, first=True)
        stop_writing(os.getpid())
        try:
            battles.add("ash", 1.0, first=True)
            battles.add("misty", 1.0, first=True)
        finally:
            let_write(os.getpid())
        assert battles.matches == 1
    assert battles.matches == 3
    assert caplog.text.count("trying again") == 1
    with outsider_results(there.folder, "mine", SERVER) as battles:
        stop_writing(os.getpid())
        try:
            battles.add("brock", 1.0, first=True)
            with pytest.raises(LeagueError, match="1 results of matches are lost"):
                battles.close()
        finally:
            let_write(os.getpid())


def test_only_a_member_that_has_a_policy_of_its_own_plays_on_a_server(there: League) -> None:
    assert league_outsiders.member_source(there.folder, "mine").game_name == "toy/nim"
    with pytest.raises(ConfigError, match="scripted:random is scripted; only a checkpoint"):
        league_outsiders.member_source(there.folder, "scripted:random")
    with pytest.raises(ConfigError, match=r"no member 'min'.*mine"):
        league_outsiders.member_source(there.folder, "min")
    with pytest.raises(ConfigError, match="plays another game, these battles are gen1randombattle"):
        league_outsiders.refuse_other_format(there.folder, "gen1randombattle")


def test_a_member_on_a_server_plays_only_with_its_own_weights(there: League, tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "champion", 1)
    with served(tmp_path / "champion") as server:
        (member,) = leagues.add(there.folder, f"{server.address}/champion")
        policy = league_outsiders.member_source(there.folder, "champion").load(SPEC, registry.load("toy"))
        assert isinstance(policy, FrozenRemotePolicy)
        policy.close()
        path = there.path(member)
        (path / "checksums.json").unlink()
        (path / "member.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(member, version=7)))
        with pytest.raises(LeagueError, match="now serves version 1, champion is version 7"):
            league_outsiders.member_source(there.folder, "champion")
