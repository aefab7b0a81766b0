"""Policies that compute in the background, as on a GPU: the server answers one batch while the next is computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.serving import SPEC, address, arrivals_of, connect, rows_of, save_checkpoint, served

from ludus.policies.checkpoints import checkpoint
from ludus.policies.gpu.streams import DirectStream
from ludus.serving import RemotePolicy


@pytest.mark.parametrize("recurrent", [False, True])
def test_answers_are_those_of_the_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recurrent: bool) -> None:
    run = tmp_path / "run"
    save_checkpoint(run, recurrent=recurrent)
    local = checkpoint.load_agent(run)
    monkeypatch.setattr(checkpoint, "open_stream", DirectStream)
    with served(run) as server:
        remote = RemotePolicy(address(server, "run"), SPEC)
        for seed in range(5):
            arrivals = arrivals_of(9, seed=seed)
            arrivals.opens[:] = seed == 0
            ours, theirs = local.act(arrivals), remote.act(arrivals)
            np.testing.assert_array_equal(ours.action, theirs.action)
            np.testing.assert_allclose(ours.logp, theirs.logp, atol=1e-5)
        remote.close()


def test_many_asks_on_the_way_are_all_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint(tmp_path / "run")
    monkeypatch.setattr(checkpoint, "open_stream", DirectStream)
    with served(tmp_path / "run") as server, connect(server, "run") as one, connect(server, "run") as other:
        row, obs, legal, opens = rows_of(4)
        batches = [
            (client, client.ask(row + 4 * at, obs, legal, opens)) for at in range(200) for client in (one, other)
        ]
        answers = [client.take(batch) for client, batch in batches]
        assert all(np.array_equal(answer.action, answers[0].action) for answer in answers)
        assert server.report().forwards < 400
