"""Self-play comes near to the equilibria of Kuhn and Leduc poker. What takes minutes is marked slow."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from benchmarks.bench_equilibria import ALGORITHMS, GOALS
from benchmarks.drivers.equilibria import learn, preset
from tests.running import Silent, counters, latest, train

from ludus.games.openspiel.equilibrium import InformationStates
from ludus.games.openspiel.exploitability import nash_conv
from ludus.games.openspiel.options import SpielOptions
from ludus.metrics import names
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.checkpoint import load_agent
from ludus.policies.weights import read_tensors

UNIFORM = 11 / 12  # NashConv of uniform play


@pytest.mark.parametrize(("algorithm", "updates", "reached"), [("rnad", 40, 0.35), ("ppo_kl", 24, 0.35)])
def test_kuhn_poker_is_soon_played_far_nearer_to_equilibrium_than_at_random(
    algorithm: str, updates: int, reached: float
) -> None:
    soon = ("learner.lr_schedule=constant", "learner.ppo_kl.result_share=1", f"budget.updates={updates}")
    config = preset("kuhn", *ALGORITHMS["kuhn"][algorithm], *soon)
    (end,) = learn(config, every=updates)
    assert end.nash_conv < reached < 0.4 * UNIFORM


@pytest.mark.parametrize("mode", ["serial", "overlapped"])
def test_a_run_by_rnad_on_real_hosts_results_in_its_target_net(tmp_path: Path, mode: str) -> None:
    quick = ("budget.updates=4", "evaluation.matches=4", "evaluation.quick_matches=2", "learner.decisions=512")
    result = train(preset("kuhn", f"mode={mode}", *quick), tmp_path, observer=Silent())
    assert result.version == 4
    assert 0.8 * 4 * 512 < counters(result)[names.LEARNED] <= 4 * 512
    saved = read_tensors(latest(result) / checkpoint.MODEL)
    state = read_tensors(latest(result) / checkpoint.OPTIMISER)
    assert torch.equal(saved["net.policy.weight"], state["target.policy.weight"])
    assert not torch.equal(saved["net.policy.weight"], state["rnad.trained.policy.weight"])
    states = InformationStates(SpielOptions())
    assert 0.3 < nash_conv(load_agent(tmp_path).net, states) < 1.2


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("game", GOALS)
@pytest.mark.parametrize("algorithm", ["rnad", "ppo_kl"])
def test_poker_comes_near_its_equilibrium(game: str, algorithm: str) -> None:
    config = preset(game, *ALGORITHMS[game][algorithm])
    *_, end = learn(config, every=config.budget.updates)
    assert end.nash_conv < GOALS[game]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_plain_ppo_does_not_come_near() -> None:
    config = preset("kuhn", *ALGORITHMS["kuhn"]["ppo"])
    *_, end = learn(config, every=config.budget.updates)
    assert end.nash_conv > 4 * GOALS["kuhn"]
