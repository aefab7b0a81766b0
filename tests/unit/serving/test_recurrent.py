"""Hidden states of rows live on the server, and come back after its death."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.serving import SPEC, RawClient, address, arrivals_of, save_checkpoint, served

from ludus.policies.checkpoints import checkpoint
from ludus.serving import RemotePolicy
from ludus.serving.history import MatchHistory
from ludus.serving.protocol import Ask
from ludus.serving.server import ServerSettings
from ludus.types import Arrivals, Choices

ROWS = 6


@pytest.fixture
def run(tmp_path: Path) -> Path:
    save_checkpoint(tmp_path / "run", recurrent=True)
    return tmp_path / "run"


def step(at: int) -> Arrivals:
    """The rows of decision `at`; rows 0 and 1 begin another match at the third one."""
    arrivals = arrivals_of(ROWS, seed=at)
    opens = np.full(ROWS, at == 0)
    opens[:2] |= at == 2
    return Arrivals(arrivals.row, arrivals.match, arrivals.obs, arrivals.legal, arrivals.reward, opens)


def assert_equal(ours: Choices, theirs: Choices) -> None:
    np.testing.assert_array_equal(ours.action, theirs.action)
    np.testing.assert_allclose(ours.logp, theirs.logp, atol=1e-5)


def test_hidden_states_step_once_a_decision_as_in_this_process(run: Path) -> None:
    local = checkpoint.load_agent(run)
    with served(run) as server:
        remote = RemotePolicy(address(server, "run"), SPEC)
        others = RemotePolicy(address(server, "run"), SPEC)
        for at in range(6):
            others.act(step(at + 100))  # of another client: rows of the same numbers are other rows
            assert_equal(local.act(step(at)), remote.act(step(at)))
        remote.close()
        others.close()


def test_new_server_gets_the_hidden_states_of_running_matches_back(run: Path) -> None:
    local = checkpoint.load_agent(run)
    with served(run) as server:
        port = server.address.port
        remote = RemotePolicy(address(server, "run"), SPEC)
        for at in range(4):
            assert_equal(local.act(step(at)), remote.act(step(at)))
    with served(run, settings=ServerSettings(port=port)):
        for at in range(4, 8):
            assert_equal(local.act(step(at)), remote.act(step(at)))
    counts = remote.client.counts
    assert (counts.reconnects, counts.lost_states) == (1, 0)
    assert counts.replayed_rows == 2 * 2 + 4 * 4  # rows 0 and 1 began a match at decision 2


def test_matches_too_long_to_remember_go_on_with_an_empty_state_and_are_counted(run: Path) -> None:
    with served(run) as server:
        port = server.address.port
        remote = RemotePolicy(address(server, "run"), SPEC, history=MatchHistory(most_bytes=1))
        for at in range(3):
            remote.act(step(at))
    with served(run, settings=ServerSettings(port=port)):
        opened = step(4)
        afresh = checkpoint.load_agent(run).act(
            Arrivals(opened.row, opened.match, opened.obs, opened.legal, opened.reward, np.ones(ROWS, np.bool_))
        )
        assert_equal(afresh, remote.act(opened))
    assert remote.client.counts.lost_states == ROWS
    assert remote.client.counts.replayed_rows == 0


def test_decision_without_the_one_before_is_refused_with_its_rows(run: Path) -> None:
    with served(run) as server, RawClient(server) as client:
        client.hello("run")
        client.socket.sendall(client.ask(1, 3, opens=False))
        refusal = client.refusal()
        assert (refusal.code, refusal.batch, refusal.rows) == ("lost-state", 1, [0, 1])
        client.socket.sendall(client.ask(2, 3, opens=True))
        client.next()
        client.socket.sendall(client.ask(3, 5, opens=False))
        assert "decision 3 is the latest known here" in client.refusal().message


def test_policies_that_leave_memory_keep_their_hidden_states(run: Path, tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "other", 1)
    local = checkpoint.load_agent(run)
    with served(run, tmp_path / "other", max_policies=1) as server:
        remote = RemotePolicy(address(server, "run"), SPEC)
        other = RemotePolicy(address(server, "other"), SPEC)
        for at in range(4):
            assert_equal(local.act(step(at)), remote.act(step(at)))
            other.act(arrivals_of(2))
            assert [each.loaded for each in server.report().policies] == [False, True]
        remote.close()
        other.close()


def test_history_replays_every_row_in_its_order() -> None:
    history = MatchHistory()
    for number in range(3):
        rows = np.array([4, 7][: 2 if number < 2 else 1], np.uint32)
        n = len(rows)
        ask = Ask(
            number,
            rows,
            np.full(n, number, np.uint32),
            np.full(n, number == 0, np.uint8),
            np.ones((n, 1), np.uint8),
            np.full((n, 8), number, np.uint8),
        )
        history.add(ask)
    replayed = [(ask.row.tolist(), ask.number.tolist(), ask.opens.tolist()) for ask in history.replay(10)]
    assert replayed == [([4, 7], [0, 0], [1, 1]), ([4, 7], [1, 1], [0, 0]), ([4], [2], [0])]
    assert [len(ask.row) for ask in history.replay(1)] == [1] * 5
    history.forget(4)
    assert 4 not in history
    assert 7 in history
