"""A recurrent pointer net trains on real Showdown hosts, with past selves that remember, and is evaluated."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.numpy import load_file
from tests.running import NEVER, Silent, counters, latest, small_run, tensors, train

from ludus.config.seed_streams import seed_for
from ludus.config.settings import (
    EvaluationConfig,
    FleetConfig,
    LearnerConfig,
    OpponentsConfig,
    PolicyConfig,
    RecurrentConfig,
)
from ludus.games.registry import load, nets_of
from ludus.metrics import names
from ludus.policies import nets
from ludus.policies.checkpoints import checkpoint


def test_two_updates_with_memory(tmp_path: Path) -> None:
    config = small_run(
        2,
        mode="overlapped",
        game="showdown",
        options={"format": "gen1randombattle"},
        fleet=FleetConfig(hosts=1, matches=8),
        policy=PolicyConfig(width=16, context=32, recurrent=RecurrentConfig("lstm", 16, sequence_length=6, burn_in=2)),
        learner=LearnerConfig(decisions=192, minibatch=96),
        opponents=OpponentsConfig(past=0.5, scripted=0.0, snapshot_every=1),
        evaluation=EvaluationConfig(("random",), matches=4, quick_matches=4, every_updates=NEVER),
    )
    result = train(config, tmp_path, observer=Silent())
    assert (result.version, len(result.evaluation)) == (2, 1)
    assert counters(result)[names.LEARNED] == 2 * 192
    spec = checkpoint.read_spec(latest(result))
    seed, game_nets = seed_for(config.seed, "weights"), nets_of(load("showdown"))
    before = nets.build(spec, config.policy, "pointer", seed=seed, game_nets=game_nets).state_dict()
    after, core = tensors(result), [name for name in before if name.startswith("core.")]
    assert core
    assert [name for name in core if torch.equal(before[name], after[f"net.{name}"])] == []
    arrays = load_file(latest(result) / checkpoint.MATCHES)
    assert arrays["bank.hidden_state"].any()
    assert arrays["rollout.segments.open.hidden_state"].any()
