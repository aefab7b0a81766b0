"""Scores of all choices against those of the legal ones, with their gradients."""

from __future__ import annotations

import pytest
import torch
from tests.unit.games.showdown.net.test_pointer import ROWS, observations, showdown_spec
from torch import Tensor

from ludus.config.settings import PolicyConfig
from ludus.games.showdown.net import pointer, sums
from ludus.games.showdown.net.pointer import PointerNet


def yes(device: torch.device) -> bool:
    return True


def learned(net: PointerNet, obs: dict[str, Tensor], legal: Tensor) -> list[Tensor]:
    """Return log-probabilities, entropies and values, and the gradients of all weights."""
    net.zero_grad()
    dist, value = net(obs, legal)
    action = legal.float().multinomial(1, generator=torch.Generator().manual_seed(3)).squeeze(1)
    logp, entropy = dist.log_prob(action), dist.entropy(action)
    loss = logp.sum() + entropy.square().sum() + value.square().sum()
    loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return [logp, entropy, value, *(weight.grad.clone() for weight in net.parameters() if weight.grad is not None)]


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(("slots", "variants", "preview"), [(1, 2, 0), (2, 1, 0), (2, 2, 0), (2, 2, 90)])
def test_all_choices_score_as_the_legal_ones_do(
    slots: int, variants: int, preview: int, full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    spec = showdown_spec(slots, variants, full=full, preview=preview)
    net = PointerNet(spec, PolicyConfig(net="pointer", width=16, context=16))
    with torch.no_grad():
        for weight in net.parameters():
            weight.add_(0.1 * torch.randn(weight.shape))
    obs = observations(spec)
    legal = torch.rand(ROWS, spec.actions) < 0.3
    if preview:
        legal[: ROWS // 2, :-preview] = False
        legal[ROWS // 2 :, -preview:] = False
    legal[:, -1 if preview else 0] |= ~legal.any(1)
    legal_only = learned(net, obs, legal)
    monkeypatch.setattr(pointer, "scores_all", yes)
    monkeypatch.setattr(sums, "adds_atomically", yes)
    for ours, theirs in zip(learned(net, obs, legal), legal_only, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
