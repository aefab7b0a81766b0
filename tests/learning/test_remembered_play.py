"""What is learned from is what was played: segments judged again by the weights that chose say what was said then."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from tests.running import small_run

from ludus.actors.actor import Actor
from ludus.actors.resolved import resolve
from ludus.config.settings import (
    FleetConfig,
    LearnerConfig,
    OpponentsConfig,
    PolicyConfig,
    RecurrentConfig,
    RolloutConfig,
)
from ludus.fleet.inprocess import InProcessFleet
from ludus.games.toy.matches import new_match, spec_of
from ludus.games.toy.options import ToyOptions
from ludus.league.pool import Pool
from ludus.learner.batch import Intake
from ludus.policies import nets
from ludus.policies.checkpoints.checkpoint import net_tensors
from ludus.policies.weights import FlatWeights

SLOTS, LENGTH = 8, 7


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("options", [ToyOptions("nim", pile=30), ToyOptions("rps", rounds=50, truncate_after=9)])
def test_segments_of_matches_that_end_are_truncated_or_lost_say_what_was_said_in_play(
    tmp_path: Path, kind: Literal["lstm", "gru"], options: ToyOptions
) -> None:
    policy = PolicyConfig(width=8, recurrent=RecurrentConfig(kind, 8, sequence_length=3))
    config = small_run(
        fleet=FleetConfig(hosts=1, matches=SLOTS),
        policy=policy,
        rollout=RolloutConfig(segment=LENGTH),
        learner=LearnerConfig(decisions=30 * LENGTH),
        opponents=OpponentsConfig(past=0.3, scripted=0.3, scripted_names=("random",), pool=2),
    )
    spec = spec_of(options)
    fleet = InProcessFleet(spec, lambda: new_match(options, spec), SLOTS, at_once=5)
    net = nets.build(spec, policy, "mlp", seed=5)
    pool = Pool(tmp_path, 2)
    pool.add(3, net_tensors(nets.build(spec, policy, "mlp", seed=6)))
    actor = Actor(fleet, resolve(config), pool)
    actor.set_past([3])
    data = Intake(net, spec, torch.device("cpu"), 64)
    actor.adopt(FlatWeights(net).numpy(), 1)
    lost = iter(range(10_000))

    def lose_one_now_and_then() -> bool:
        turn = next(lost)
        if turn % 4 == 3:
            fleet.void(turn // 4 % SLOTS, "died")
        return False

    for _ in range(2):
        batch = actor.layout.allocate()
        assert actor.play(batch, lose_one_now_and_then)
        assert (batch.hidden_state.any(axis=1) == ~batch.opens[:, 0]).all()
        assert 0 < np.count_nonzero(batch.opens[:, 0]) < len(batch.opens)
        (minibatch,) = data.take(batch).in_order(batch.decisions)
        with torch.no_grad():
            said, value = minibatch.outputs(net)
            logp = said.log_prob(minibatch.action)
        np.testing.assert_allclose(value.expected.numpy(), batch.value.reshape(-1), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(logp.numpy(), batch.logp.reshape(-1), rtol=1e-4, atol=1e-5)
