"""`ludus play --record`: battles on a real local server, as a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks.showdown_server import serve
from numpy.typing import NDArray
from tests import datasets as toys
from tests.peers import DEADLINE_S, FORMAT, later, peer, untrained
from tests.serving import save_checkpoint, served

from ludus.api import datasets
from ludus.api.server_recording import recording
from ludus.cli import main
from ludus.data.dataset import Dataset
from ludus.errors import DatasetError
from ludus.games.named_policies import agent_source
from ludus.games.showdown.install import Installation
from ludus.games.showdown.play.outsiders import PlayResult, play, ratings_of
from ludus.games.showdown.play_game import PlayOptions
from ludus.games.showdown.scripted import POLICIES
from ludus.types import Arrivals, Ending


@pytest.fixture(scope="module")
def server(showdown: Installation) -> Iterator[str]:
    with serve(showdown, "0") as port:
        yield f"ws://127.0.0.1:{port}/showdown/websocket"


def test_battles_are_recorded_with_their_rows_and_logs_by_a_policy_on_a_server(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint, data = untrained(tmp_path / "run"), tmp_path / "people"
    with served(f"untrained={checkpoint}") as policies:
        for battles in (2, 1):  # the second call continues the dataset
            other = peer(server)
            accepting = later(other.accept_challenges("Recording Agent", battles))
            words = ["--name", "Recording Agent", "--challenge", other.username, "--matches", str(battles)]
            agent = f"{policies.address}/untrained"
            monkeypatch.setattr("sys.argv", ["ludus", "play", agent, "--server", server, *words, "--record", str(data)])
            with pytest.raises(SystemExit) as left:
                main.main()
            accepting.result(DEADLINE_S)
            assert not left.value.code
    dataset = Dataset.open(data)
    assert not dataset.manifest.replayable
    assert [each.name for each in dataset.manifest.policies] == [agent, "opponent"]
    contents = [content for _, content in dataset.ledgers()]
    assert sorted(np.concatenate([each.matches.number for each in contents]).tolist()) == [0, 1, 2]
    for content in contents:
        assert (content.matches.count[:, 0] > 5).all()
        assert (content.matches.count[:, 1] == 0).all()  # nobody asks the opponent through this host
        assert content.logs.count(b"|player|") >= 2 * len(content.matches)
        assert content.matches.score.sum() == len(content.matches)
    assert datasets.check(data).rows == dataset.manifest.decisions
    same = datasets.agreement(data, str(checkpoint), of=agent, held_out=0.0)
    assert same.share == 1.0  # the recorded rows are what the agent saw
    assert datasets.export(data, "parquet", tmp_path / "parquet") == dataset.manifest.decisions


def test_ratings_are_those_of_the_log() -> None:
    log = "|player|p1|Ash K|102|1234\n|player|p2|Agent|1|1500\n|player|p1|\n|player|p2|Agent|1|lots"
    assert ratings_of(log, "agent") == (1500.0, 1234.0)
    assert all(math.isnan(each) for each in ratings_of("|player|p1|Ash|102|\n", "agent"))


class FullDisk:
    """A recorder that cannot write."""

    def __init__(self) -> None:
        self.ended = 0

    def choose(self, arrivals: Arrivals, action: NDArray[np.int32]) -> None:
        pass

    def end(self, ending: Ending) -> None:
        self.ended += not ending.void

    def write_due(self) -> None:
        raise DatasetError("data cannot be written: No space left on device")

    write = write_due


def test_a_full_disk_costs_no_battle_and_is_said_after_the_last_one(
    server: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other, recorder, results = peer(server), FullDisk(), list[PlayResult]()
    accepting = later(other.accept_challenges("Full Agent", 1))
    options = PlayOptions(server=server, name="Full Agent", mode="challenge", opponent=other.username, format=FORMAT)
    with pytest.raises(DatasetError, match="No space left on device"):
        play(
            lambda spec: POLICIES["max_damage"](spec, 1),
            options,
            log_dir=tmp_path,
            matches=1,
            deadline_s=DEADLINE_S,
            record=lambda fleet, ratings: recorder,
            show=results.append,
        )
    accepting.result(DEADLINE_S)
    assert (recorder.ended, results[-1].total.battles, results[-1].stopped) == (1, 1, "")
    assert caplog.text.count("No space left on device; trying again") == 1


def test_a_folder_with_generated_matches_is_refused(tmp_path: Path) -> None:
    toys.played(tmp_path, 4)
    with (
        pytest.raises(DatasetError, match=r"was made by `ludus generate`; choose another folder"),
        recording(tmp_path, "showdown", {}, agent_source(str(save_checkpoint(tmp_path / "run")))),
    ):
        pass
