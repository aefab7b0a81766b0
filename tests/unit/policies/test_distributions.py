"""Distributions over legal actions, against the slow and obvious way."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from ludus.policies.distributions import Categorical, Distribution, Pairs

ROWS, CHOICES, MORE, RANK = 6, 5, 3, 2
DRAWS = 20_000


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def legal_actions(actions: int, seed: int = 0) -> Tensor:
    legal = torch.rand(ROWS, actions, generator=generator(seed)) < 0.3
    legal[:, 3] = True
    return legal


def categorical(legal: Tensor, repeats: int, seed: int = 2) -> Categorical:
    logits = torch.randn(ROWS, legal.shape[1], generator=generator(seed))
    return Categorical(logits.repeat(repeats, 1), legal.repeat(repeats, 1))


def pairs(legal: Tensor, repeats: int, seed: int = 1) -> Pairs:
    drawn, more = generator(seed), legal.shape[1] - CHOICES**2
    first = torch.randn(ROWS, CHOICES + more, generator=drawn).repeat(repeats, 1)
    second = torch.randn(ROWS, CHOICES, generator=drawn).repeat(repeats, 1)
    left, right = (torch.randn(ROWS, CHOICES, RANK, generator=drawn).repeat(repeats, 1, 1) for _ in range(2))
    legal = legal.repeat(repeats, 1)
    return bound(first, second, left, right, legal)


def bound(first: Tensor, second: Tensor, left: Tensor, right: Tensor, legal: Tensor) -> Pairs:
    """The second choice's scores depend on the first by what left and right [n, k, r] say about each other."""

    def given(choice: Tensor, _: Tensor) -> Tensor:
        return second + torch.einsum("nkr,nr->nk", right, left[torch.arange(len(left)), choice])

    return Pairs(first, given, legal, Pairs.first_choices(legal, CHOICES))


def every_log_prob(distribution: Distribution, actions: int) -> Tensor:
    """[n, A], one action at a time."""
    columns = [distribution.log_prob(torch.full((ROWS,), action)) for action in range(actions)]
    return torch.stack(columns, dim=1)


def cases() -> list[tuple[Callable[[Tensor, int], Distribution], Tensor]]:
    """How to make a distribution (each row so many times), and what is legal [n, A]."""
    flat, square = legal_actions(7), legal_actions(CHOICES**2)
    with_preview = torch.cat((square, torch.zeros(ROWS, MORE, dtype=torch.bool)), dim=1)
    with_preview[::2] = False
    with_preview[::2, -MORE:-1] = True  # at team preview nothing but preview actions is legal
    return [(categorical, flat), (pairs, square), (pairs, with_preview)]


each = pytest.mark.parametrize(("make", "legal"), cases(), ids=["flat", "pairs", "preview"])
Make = Callable[[Tensor, int], Distribution]


@each
def test_probabilities_of_legal_actions_sum_to_one_and_others_are_zero(make: Make, legal: Tensor) -> None:
    probabilities = every_log_prob(make(legal, 1), legal.shape[1]).exp()
    torch.testing.assert_close((probabilities * legal).sum(1), torch.ones(ROWS))
    assert (probabilities[~legal] == 0).all()


@each
def test_samples_come_as_often_as_their_probability_says(make: Make, legal: Tensor) -> None:
    action = make(legal, DRAWS).sample(generator(3)).reshape(DRAWS, ROWS)
    share = torch.stack([torch.bincount(column, minlength=legal.shape[1]) for column in action.T]) / DRAWS
    expected = every_log_prob(make(legal, 1), legal.shape[1]).exp()
    assert (share[~legal] == 0).all()
    assert (share - expected).abs().max() < 4 * 0.5 / DRAWS**0.5


@each
def test_given_numbers_decide_as_those_of_a_generator_do(make: Make, legal: Tensor) -> None:
    said = make(legal, 50)
    uniform = torch.rand(said.draws, 50 * ROWS, generator=generator(4))
    assert (said.draw(uniform) == said.sample(generator(4))).all()
    assert legal.repeat(50, 1)[torch.arange(50 * ROWS), said.draw(uniform)].all()


def test_a_number_leads_to_the_action_at_that_share_of_the_whole() -> None:
    said = Categorical(torch.tensor([[0.25, 0.0, 0.5, 0.25]]).log().repeat(5, 1), torch.ones(5, 4, dtype=torch.bool))
    assert said.draw(torch.tensor([[0.0, 0.24, 0.26, 0.74, 0.999999]])).tolist() == [0, 0, 2, 2, 3]


@pytest.mark.parametrize("temperature", [0.25, 4.0])
def test_a_temperature_divides_the_logits_and_keeps_illegal_actions_out(temperature: float) -> None:
    logits = torch.randn(5, 7)
    legal = torch.rand(5, 7) < 0.7
    legal[:, 0] = True
    tempered = Categorical(logits, legal).tempered(temperature)
    expected = torch.where(legal, logits / temperature, -torch.inf).softmax(1)
    torch.testing.assert_close(tempered.log_probs.exp(), expected)


def test_a_low_temperature_makes_joint_actions_the_best_ones() -> None:
    legal = torch.ones(200, 9, dtype=torch.bool)
    first, second = torch.randn(200, 3), torch.randn(200, 3)
    pairs = Pairs(first, lambda slot, mask: second, legal, Pairs.first_choices(legal, 3))
    drawn = pairs.tempered(1e-4).sample(torch.Generator().manual_seed(1))
    assert torch.equal(drawn, pairs.best())


@each
def test_the_best_action_is_legal(make: Make, legal: Tensor) -> None:
    assert legal[torch.arange(ROWS), make(legal, 1).best()].all()


def test_the_best_flat_action_is_the_most_probable() -> None:
    legal = legal_actions(7)
    distribution = categorical(legal, 1)
    assert (every_log_prob(distribution, 7).argmax(1) == distribution.best()).all()


@each
def test_entropy_averages_to_the_true_one(make: Make, legal: Tensor) -> None:
    distribution = make(legal, 1)
    log_probs = every_log_prob(distribution, legal.shape[1])
    truth = -(log_probs.exp() * log_probs).sum(1)
    columns = [distribution.entropy(torch.full((ROWS,), action)) for action in range(legal.shape[1])]
    estimate = (log_probs.exp() * torch.stack(columns, dim=1)).sum(1)
    torch.testing.assert_close(estimate, truth, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("make", "legal"), cases())
def test_divergence_averages_to_the_true_one(make: Callable[..., Categorical | Pairs], legal: Tensor) -> None:
    one, other = make(legal, 1, 3), make(legal, 1, 4)
    ours, theirs = (every_log_prob(each, legal.shape[1]) for each in (one, other))
    truth = torch.where(legal, ours.exp() * (ours - theirs), 0.0).sum(1)
    columns = [one.kl(other, torch.full((ROWS,), action)) for action in range(legal.shape[1])]  # type: ignore[arg-type]  # of one kind
    estimate = (ours.exp() * torch.stack(columns, dim=1)).sum(1)
    torch.testing.assert_close(estimate, truth, rtol=1e-4, atol=1e-5)
    assert bool((truth > 0).any())


def test_gradients_are_finite_where_one_action_is_legal() -> None:
    legal = torch.zeros(ROWS, CHOICES**2, dtype=torch.bool)
    legal[:, 7] = True
    scores = torch.randn(ROWS, CHOICES, generator=generator(), requires_grad=True)
    bond = torch.randn(ROWS, CHOICES, RANK, generator=generator(), requires_grad=True)
    distribution = bound(scores, scores, bond, bond, legal)
    action = distribution.sample(generator())
    total = (distribution.log_prob(action) + distribution.entropy(action)).sum()
    total.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    assert (action == 7).all()
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()


def trained_pairs(parameters: tuple[Tensor, ...], legal: Tensor) -> Pairs:
    first, second, left, right = parameters
    return bound(first, second, left, right, legal)


def parameters_of(seed: int, more: int) -> tuple[Tensor, ...]:
    drawn = generator(seed)
    shapes = ((CHOICES + more,), (CHOICES,), (CHOICES, RANK), (CHOICES, RANK))
    return tuple(torch.randn(ROWS, *shape, generator=drawn).requires_grad_() for shape in shapes)


def gradients(total: Tensor, parameters: tuple[Tensor, ...]) -> list[Tensor]:
    """Return the gradients for row 0, with zeros where there is none."""
    found = torch.autograd.grad(total, parameters, allow_unused=True, retain_graph=True)
    pairs_of = zip(parameters, found, strict=True)
    return [torch.zeros_like(parameter)[0] if own is None else own[0] for parameter, own in pairs_of]


@pytest.mark.parametrize("quantity", ["entropy", "kl"])
@pytest.mark.parametrize("legal", [legal_actions(CHOICES**2), cases()[2][1].roll(1, 0)], ids=["pairs", "preview"])
def test_gradients_of_pairs_average_to_those_by_enumeration(quantity: str, legal: Tensor) -> None:
    """The mean over the actions of row 0, while those of the other rows stay as they are."""
    more = legal.shape[1] - CHOICES**2
    parameters, others = parameters_of(5, more), parameters_of(6, more)
    dist, other = trained_pairs(parameters, legal), trained_pairs(others, legal)
    ours, theirs = (every_log_prob(each, legal.shape[1])[0] for each in (dist, other))
    summed = -ours if quantity == "entropy" else ours - theirs.detach()
    exact = gradients(torch.where(legal[0], ours.exp() * summed, 0.0).sum(), parameters)

    action = dist.sample(generator(7))
    estimate = [torch.zeros_like(own[0]) for own in parameters]
    for first_row in legal[0].nonzero().flatten().tolist():
        action = action.clone()
        action[0] = first_row
        own = dist.entropy(action) if quantity == "entropy" else dist.kl(other, action)
        weight = ours[first_row].exp().detach()
        for mean, gradient in zip(estimate, gradients(own[0], parameters), strict=True):
            mean += weight * gradient
    for mean, truth in zip(estimate, exact, strict=True):
        torch.testing.assert_close(mean, truth, rtol=1e-4, atol=1e-5)
    assert exact[0].abs().max() > 1e-2
