from __future__ import annotations

import torch

from ludus.learner.regularisation import moment, neurd_loss


def test_schedule_swaps_at_the_end_of_each_part_and_the_last_goes_on() -> None:
    swaps = [update for update in range(31) if moment([(3, 2), (5, 3), (4, 1)], update).swaps]
    assert swaps == [2, 5, 10, 15, 20, 24, 28]


def test_weight_of_the_last_policy_grows_in_the_first_half_of_a_part() -> None:
    weights = [moment([(8, 1)], update).alpha for update in range(10)]
    assert weights == [0.0, 0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 1.0, 0.0, 0.25]


def gradient(
    logits: list[float], advantage: list[float], legal: list[bool] | None = None, beta: float = 2.0, clip: float = 10.0
) -> list[float]:
    """How a step down the loss moves the logits."""
    leaf = torch.tensor([logits], requires_grad=True)
    mask = torch.tensor([legal or [True] * len(logits)])
    said = torch.where(mask, leaf, -1e9).log_softmax(1)
    neurd_loss(said, mask, torch.tensor([advantage]), beta=beta, clip=clip).sum().backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    assert leaf.grad is not None
    return [round(-one, 5) for one in leaf.grad[0].tolist()]


def test_logits_move_by_their_advantage_however_unlikely_the_action_is() -> None:
    assert gradient([0.0, 0.0, 0.0], [1.0, -1.0, 0.0]) == [1.0, -1.0, 0.0]
    assert gradient([1.5, -1.5, 0.0], [1.0, -1.0, 0.0]) == [1.0, -1.0, 0.0]  # softmax gradients would have vanished


def test_only_differences_of_logits_count() -> None:
    assert gradient([5.0, 5.0, 5.0], [1.0, -1.0, 0.0]) == [1.0, -1.0, 0.0]
    assert gradient([0.0, 0.0], [1.0, 1.0]) == [0.0, 0.0]


def test_no_logit_is_pushed_further_than_beta_from_the_mean_but_all_may_return() -> None:
    assert gradient([2.5, -2.5], [1.0, -1.0]) == [0.0, 0.0]
    assert gradient([2.5, -2.5], [-1.0, 1.0]) == [-1.0, 1.0]


def test_forces_are_clipped() -> None:
    assert gradient([0.0, 0.0], [30.0, -30.0], clip=4.0) == [4.0, -4.0]


def test_illegal_actions_neither_move_nor_count_for_the_mean() -> None:
    assert gradient([1.9, -1.9, 50.0], [1.0, -1.0, 7.0], legal=[True, True, False]) == [1.0, -1.0, 0.0]
