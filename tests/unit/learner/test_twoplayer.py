"""Against a slow twin that looks forward from each decision, and against the expectation over a whole tree."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pytest
import torch
from torch import Tensor

from ludus.learner.twoplayer import Targets, two_player_vtrace

LIMITS = [(1.0, 1.0), (math.inf, 1.0), (0.7, 0.4)]


@dataclass
class Columns:
    """One segment, as plain numbers by decision."""

    seat: list[int]
    opens: list[bool]
    ends: list[bool]
    reward: list[float]
    final_value: list[float]
    value: list[float]
    ratio: list[float]
    regularisation: list[float]


def story(T: int, random: np.random.Generator, seats: int) -> Columns:
    """Matches of any length; each seat's last decision in a match that ended is marked, the last match goes on."""
    seat = random.integers(0, seats, T).tolist()
    opens = [bool(random.random() < 0.3) for _ in range(T)]
    ends = [False] * T
    for t in range(1, T):
        if opens[t]:
            for s in range(seats):
                last = next((u for u in range(t - 1, -1, -1) if seat[u] == s), None)
                if last is not None and not any(opens[last + 1 : t]):
                    ends[last] = True
    truncated = [end and random.random() < 0.3 for end in ends]
    return Columns(
        seat,
        opens,
        ends,
        random.normal(size=T).tolist(),
        [float(random.normal()) if cut else 0.0 for cut in truncated],
        random.normal(size=T).tolist(),
        np.exp(random.normal(size=T) * 0.5).tolist(),
        np.abs(random.normal(size=T)).tolist(),
    )


def slow(c: Columns, gamma: float, trace_lambda: float, rho: float, bar: float) -> list[tuple[float, float]]:
    T = len(c.seat)

    @cache
    def targets(t: int) -> tuple[float, float]:
        between, following = [], None
        for j in range(t + 1, T):
            if c.opens[j]:
                break
            if c.seat[j] == c.seat[t]:
                following = j
                break
            between.append(j)
        if c.ends[t]:
            next_value = next_target = c.final_value[t]
        elif following is None:
            return c.value[t], 0.0
        else:
            next_value, next_target = c.value[following], targets(following)[0]
        product = math.prod(c.ratio[j] for j in between)
        paid = sum(c.regularisation[j] for j in between)
        weighted = sum(
            c.regularisation[j] * math.prod(c.ratio[i] for i in between[:place]) for place, j in enumerate(between)
        )
        error = c.reward[t] + paid - c.regularisation[t] + gamma * next_value - c.value[t]
        both = c.ratio[t] * product
        target = (
            c.value[t] + min(rho, both) * error + trace_lambda * min(bar, both) * gamma * (next_target - next_value)
        )
        return target, product * c.reward[t] + weighted + gamma * product * next_target - c.value[t]

    return [targets(t) for t in range(T)]


def tensors(columns: list[Columns]) -> dict[str, Tensor]:
    names = Columns.__dataclass_fields__
    return {
        name: torch.tensor(
            [getattr(one, name) for one in columns],
            dtype={"seat": torch.int8, "opens": torch.bool, "ends": torch.bool}.get(name, torch.float64),
        )
        for name in names
    }


@pytest.mark.parametrize(("rho", "bar"), LIMITS)
@pytest.mark.parametrize("seats", [1, 2])
def test_targets_equal_those_of_a_slow_twin_that_looks_forward(seats: int, rho: float, bar: float) -> None:
    random = np.random.default_rng(5)
    columns = [story(12, random, seats) for _ in range(40)]
    found = two_player_vtrace(**tensors(columns), seats=seats, gamma=0.9, trace_lambda=0.8, rho_bar=rho, c_bar=bar)
    wanted = torch.tensor([slow(one, 0.9, 0.8, rho, bar) for one in columns], dtype=torch.float64)
    assert torch.allclose(found.value, wanted[..., 0], atol=1e-12)
    assert torch.allclose(found.gain, wanted[..., 1], atol=1e-12)


DEPTH = 5
ETA = 0.3


@dataclass
class Node:
    """Of a random tree for two, three actions wide; each seat may be asked any number of times in a row."""

    seat: int
    pi: list[float]
    mu: list[float]
    reg: list[float]
    reward: list[list[float]]  # [action][seat] after it
    guess: float  # the value that a net might have given it
    after: list[Node] = field(default_factory=list)

    @property
    def costs(self) -> list[float]:
        return [ETA * math.log(p / r) for p, r in zip(self.pi, self.reg, strict=True)]


def grow(depth: int, random: np.random.Generator) -> Node:
    pi, mu, reg = (random.dirichlet(np.ones(3) * 2).tolist() for _ in range(3))
    node = Node(int(random.integers(2)), pi, mu, reg, random.normal(size=(3, 2)).tolist(), float(random.normal()))
    if depth > 1:
        node.after = [grow(depth - 1, random) for _ in range(3)]
    return node


def worth(node: Node, seat: int) -> float:
    """Of the regularised game when pi is played on."""
    return sum(p * q for p, q in zip(node.pi, choices_worth(node, seat), strict=True))


def choices_worth(node: Node, seat: int) -> list[float]:
    sign = -1 if node.seat == seat else 1
    return [
        sign * node.costs[a] + node.reward[a][seat] + (worth(node.after[a], seat) if node.after else 0.0)
        for a in range(3)
    ]


def path(root: Node, actions: tuple[int, ...]) -> tuple[Columns, list[Node]]:
    nodes, node = [], root
    for action in actions:
        nodes.append(node)
        node = node.after[action] if node.after else node
    T = len(actions)
    next_own = [next((u for u in range(t + 1, T) if nodes[u].seat == nodes[t].seat), None) for t in range(T)]
    earned = [sum(nodes[u].reward[actions[u]][nodes[t].seat] for u in range(t, next_own[t] or T)) for t in range(T)]
    return Columns(
        [one.seat for one in nodes],
        [t == 0 for t in range(T)],
        [own is None for own in next_own],
        earned,
        [0.0] * T,
        [one.guess for one in nodes],
        [one.pi[a] / one.mu[a] for one, a in zip(nodes, actions, strict=True)],
        [sum(p * cost for p, cost in zip(one.pi, one.costs, strict=True)) for one in nodes],
    ), nodes


def test_targets_are_on_average_the_regularised_values_whatever_policy_chose_and_whatever_the_values_were() -> None:
    root = grow(DEPTH, np.random.default_rng(8))
    plays = list(itertools.product(range(3), repeat=DEPTH))
    walked = [path(root, actions) for actions in plays]
    found = two_player_vtrace(
        **tensors([columns for columns, _ in walked]),
        seats=2, gamma=1.0, trace_lambda=1.0, rho_bar=math.inf, c_bar=math.inf,
    )  # fmt: skip
    for depth in range(DEPTH):
        for prefix in itertools.product(range(3), repeat=depth):
            through = [number for number, actions in enumerate(plays) if actions[:depth] == prefix]
            node = walked[through[0]][1][depth]
            value, choices = averages(found, plays, walked[through[0]][1], through, depth, walked)
            assert value == pytest.approx(worth(node, node.seat), abs=1e-9)
            assert choices == pytest.approx(choices_worth(node, node.seat), abs=1e-9)


def averages(
    found: Targets,
    plays: list[tuple[int, ...]],
    nodes: list[Node],
    through: list[int],
    depth: int,
    walked: list[tuple[Columns, list[Node]]],
) -> tuple[float, list[float]]:
    """Under mu from the node at this depth on: the value's target, and what NeuRD is told of each action."""
    node, value = nodes[depth], 0.0
    choices = [node.guess - cost for cost in node.costs]
    for number in through:
        taken = plays[number]
        chance = math.prod(one.mu[a] for one, a in list(zip(walked[number][1], taken, strict=True))[depth:])
        value += chance * float(found.value[number, depth])
        choices[taken[depth]] += chance * float(found.gain[number, depth]) / node.mu[taken[depth]]
    return value, choices
