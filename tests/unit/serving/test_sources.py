from __future__ import annotations

from pathlib import Path

import pytest
from tests.serving import save_checkpoint

from ludus.errors import CheckpointError, ConfigError
from ludus.policies.checkpoints.archive import Checkpoints
from ludus.serving.address import Address, is_address, parse
from ludus.serving.policy_sources import default_name, find_source, sources_of


def test_a_run_is_named_by_its_folder_and_a_checkpoint_by_its_run_and_version(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path / "mine", 7)
    assert default_name(tmp_path / "mine") == "mine"
    assert default_name(path) == "mine@u00000007"
    assert list(sources_of([f"best-one={tmp_path / 'mine'}", str(path)])) == ["best-one", "mine@u00000007"]


def test_two_policies_of_one_name_are_refused(tmp_path: Path) -> None:
    for run in ("a", "b"):
        save_checkpoint(tmp_path / run / "run")
    with pytest.raises(ConfigError, match="would both be served as 'run'; name one of them, as in other="):
        sources_of([str(tmp_path / "a" / "run"), str(tmp_path / "b" / "run")])
    with pytest.raises(ConfigError, match="'a/b' is no name for a policy"):
        sources_of([f"a/b={tmp_path / 'a' / 'run'}"])


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(CheckpointError, match="nowhere does not exist; name the folder of a run"):
        sources_of(["nowhere"])
    with pytest.raises(ConfigError, match="nothing to serve: name a run or a checkpoint"):
        sources_of([])


def test_versions_of_a_run_can_be_asked_for(tmp_path: Path) -> None:
    old, new = (save_checkpoint(tmp_path / "run", version) for version in (1, 2))
    sources = sources_of([str(tmp_path / "run")])
    source, version = find_source("run@u00000001", sources)
    assert source.checkpoint(version) == old
    assert source.checkpoint() == new
    for wrong in ("u00000003", "../../../etc", "u1"):
        with pytest.raises(CheckpointError, match=r"run has no checkpoint .*; the latest are u00000001, u00000002"):
            source.checkpoint(wrong)
    with pytest.raises(CheckpointError, match="there is no policy 'rum' here"):
        find_source("rum", sources)


def test_the_best_checkpoint_is_served_if_that_is_wanted(tmp_path: Path) -> None:
    old = save_checkpoint(tmp_path / "run", 1)
    save_checkpoint(tmp_path / "run", 2)
    Checkpoints(tmp_path / "run", 3).mark_best(old, 0.9)
    assert sources_of([str(tmp_path / "run")], best=True)["run"].checkpoint() == old


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("tcp://127.0.0.1:5555/gen1", Address("127.0.0.1", 5555, "gen1")),
        ("tcp://box:1/gen1@u00000120?sample", Address("box", 1, "gen1@u00000120", greedy=False)),
        ("tcp://[::1]:5555/x", Address("::1", 5555, "x")),
    ],
)
def test_addresses_are_read_and_written(text: str, parts: Address) -> None:
    assert is_address(text)
    assert parse(text) == parts
    assert str(parts) == text


@pytest.mark.parametrize(
    "text",
    ["tcp://127.0.0.1/gen1", "tcp://:5555/x", "tcp://a:70000/x", "tcp://a:0/x", "tcp://a:1/x/y", "tcp://u@a:1/x", ""],
)
def test_addresses_that_name_no_server_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError, match=r"expected e.g. tcp://127.0.0.1:5555/NAME"):
        parse(text)


def test_an_address_without_a_policy_is_enough_for_its_status_only() -> None:
    assert parse("127.0.0.1:5555", policy=False) == Address("127.0.0.1", 5555)
    with pytest.raises(ConfigError, match="names no policy"):
        parse("tcp://127.0.0.1:5555")
