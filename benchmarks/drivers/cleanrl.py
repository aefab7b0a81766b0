"""PPO in CleanRL's style: one file, a loop over a vector of environments in this process, tensors throughout.

Written for the benchmark after CleanRL's ppo.py: orthogonal layers and tanh, a buffer [T, N], GAE backwards in time,
shuffled minibatches, normalised advantages, clipped values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from benchmarks.drivers import ppo
from benchmarks.drivers.environments import make
from torch import Tensor, nn


class Agent(nn.Module):
    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.critic = nn.Sequential(
            _layer(inputs, ppo.HIDDEN), nn.Tanh(), _layer(ppo.HIDDEN, ppo.HIDDEN), nn.Tanh(), _layer(ppo.HIDDEN, 1, 1.0)
        )
        self.actor = nn.Sequential(
            _layer(inputs, ppo.HIDDEN),
            nn.Tanh(),
            _layer(ppo.HIDDEN, ppo.HIDDEN),
            nn.Tanh(),
            _layer(ppo.HIDDEN, actions, 0.01),
        )

    def forward(self, obs: Tensor, action: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        dist = torch.distributions.Categorical(logits=self.actor(obs))
        if action is None:
            action = dist.sample()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        logp, entropy = dist.log_prob(action), dist.entropy()  # type: ignore[no-untyped-call]  # torch leaves them so
        return action, logp, entropy, self.critic(obs).squeeze(1)


def cleanrl(environment: str, number: int) -> Callable[[], int]:
    """Return a function that collects one batch and learns from it at each call."""
    vector = gymnasium.vector.SyncVectorEnv([partial(make, environment) for _ in range(number)])
    shape, actions = vector.single_observation_space.shape, int(vector.single_action_space.n)  # type: ignore[attr-defined]
    agent = Agent(int(np.prod(shape or (1,))), actions)
    optimiser = torch.optim.Adam(agent.parameters(), lr=ppo.LR, eps=1e-5)
    T = ppo.DECISIONS // number
    obs = torch.zeros((T, number, *(shape or (1,))))
    action, logp, reward, done, value = (torch.zeros((T, number)) for _ in range(5))
    state = {"obs": torch.Tensor(vector.reset(seed=1)[0]), "done": torch.zeros(number)}

    def update() -> int:
        nonlocal state
        for t in range(T):
            obs[t], done[t] = state["obs"], state["done"]
            with torch.no_grad():
                action[t], logp[t], _, value[t] = agent(state["obs"])
            stepped: Any = vector.step(action[t].long().numpy())
            reward[t] = torch.tensor(stepped[1])
            state = {"obs": torch.Tensor(stepped[0]), "done": torch.Tensor(np.logical_or(stepped[2], stepped[3]))}
        with torch.no_grad():
            advantage = _advantages(reward, value, done, agent(state["obs"])[3], state["done"])
        returns = advantage + value
        flat = [each.flatten(0, 1) for each in (obs, action, logp, advantage, returns, value)]
        for _ in range(ppo.EPOCHS):
            for index in torch.randperm(ppo.DECISIONS).split(ppo.MINIBATCH):  # type: ignore[no-untyped-call]  # as above
                _learn(agent, optimiser, [each[index] for each in flat])
        return ppo.DECISIONS

    return update


def _advantages(reward: Tensor, value: Tensor, done: Tensor, next_value: Tensor, next_done: Tensor) -> Tensor:
    advantage, last = torch.zeros_like(reward), torch.zeros_like(next_value)
    for t in reversed(range(len(reward))):
        goes_on = 1.0 - (next_done if t == len(reward) - 1 else done[t + 1])
        following = next_value if t == len(reward) - 1 else value[t + 1]
        delta = reward[t] + ppo.GAMMA * following * goes_on - value[t]
        advantage[t] = last = delta + ppo.GAMMA * ppo.LAMBDA * goes_on * last
    return advantage


def _learn(agent: Agent, optimiser: torch.optim.Optimizer, batch: list[Tensor]) -> None:
    obs, action, logp, advantage, returns, value = batch
    _, new_logp, entropy, new_value = agent(obs, action.long())
    ratio = (new_logp - logp).exp()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    policy_loss = torch.max(-advantage * ratio, -advantage * ratio.clamp(1 - ppo.CLIP, 1 + ppo.CLIP)).mean()
    clipped = value + (new_value - value).clamp(-ppo.CLIP, ppo.CLIP)
    value_loss = 0.5 * torch.max((new_value - returns) ** 2, (clipped - returns) ** 2).mean()
    loss = policy_loss - ppo.ENTROPY * entropy.mean() + ppo.VALUE * value_loss
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), ppo.GRAD_NORM)
    optimiser.step()


def _layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
