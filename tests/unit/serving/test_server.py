from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.serving import SPEC, address, arrivals_of, connect, eventually, rows_of, save_checkpoint, served

from ludus.policies.checkpoints import checkpoint
from ludus.serving import RemotePolicy


def test_server_answers_as_the_policy_in_this_process_does(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "run")
    local = checkpoint.load_agent(tmp_path / "run")
    with served(tmp_path / "run") as server:
        remote = RemotePolicy(address(server, "run"), SPEC)
        for seed in range(3):
            arrivals = arrivals_of(17, seed=seed)
            ours, theirs = local.act(arrivals), remote.act(arrivals)
            np.testing.assert_array_equal(ours.action, theirs.action)
            np.testing.assert_allclose(ours.logp, theirs.logp, atol=1e-6)
            np.testing.assert_allclose(ours.value, theirs.value, atol=1e-6)
            assert theirs.version == 1
        remote.close()


def test_several_asks_may_be_on_the_way(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "run")
    with served(tmp_path / "run") as server, connect(server, "run") as client:
        _, obs, legal, opens = rows_of(4)
        batches = [client.ask(np.arange(4) + 4 * at, obs, legal, opens) for at in range(10)]
        answers = [client.take(batch) for batch in reversed(batches)]
    assert all(np.array_equal(answer.action, answers[0].action) for answer in answers)


def test_a_policy_that_left_memory_comes_back_with_its_newest_checkpoint(tmp_path: Path) -> None:
    for run in ("run", "other"):
        save_checkpoint(tmp_path / run)
    with served(tmp_path / "run", tmp_path / "other", max_policies=1) as server:
        with connect(server, "run") as client:
            assert client.act(*rows_of(2)).version == 1
        with connect(server, "other") as client:
            eventually(lambda: client.status().clients == 1, "the first client to leave")
            client.act(*rows_of(2))
        save_checkpoint(tmp_path / "run", 2)
        with connect(server, "run") as client:
            assert client.policy.version == client.act(*rows_of(2)).version == 2
