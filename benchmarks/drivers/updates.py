"""PPO updates on random segments, for bench_learner.py: variants of ours, and Stable-Baselines3's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from benchmarks.drivers.inference import CASES, Case, doubles
from numpy.typing import NDArray

from ludus.config.settings import ComputeConfig, LearnerConfig, PolicyConfig, PpoConfig
from ludus.learner.ppo import Ppo
from ludus.metrics import names
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec, ObsSpec
from ludus.types import SegmentBatch

Update = Callable[[], None]
LR, SEGMENT = 3e-4, 32


@dataclass(frozen=True)
class Task:
    """A net and the number of decisions per update."""

    case: Case
    decisions: int
    minibatch: int
    epochs: int

    @property
    def samples(self) -> int:
        return self.decisions * self.epochs

    def config(self, compute: ComputeConfig) -> LearnerConfig:
        return LearnerConfig(
            decisions=self.decisions,
            minibatch=self.minibatch,
            epochs=self.epochs,
            compute=compute,
            ppo=PpoConfig(target_kl=0),
        )


def _flat(inputs: int, actions: int, width: int) -> Case:
    spec = GameSpec("flat", 1, actions, ObsSpec.pack({"x": ("float32", (inputs,))}), 1)
    return Case(spec, PolicyConfig(net="mlp", width=width, layers=2))


def _pointer(spec: GameSpec, width: int) -> Task:
    return Task(Case(spec, PolicyConfig(net="pointer", width=width)), decisions=4096, minibatch=512, epochs=2)


PEER_TASKS = {  # against the peer: by its defaults, and by ours
    "mlp 2x64": Task(_flat(16, 8, 16), decisions=2048, minibatch=64, epochs=10),
    "mlp 2x256": Task(_flat(64, 8, 64), decisions=4096, minibatch=512, epochs=2),
}
TASKS = {
    "mlp": Task(CASES["mlp"], decisions=4096, minibatch=512, epochs=2),
    "pointer": Task(CASES["pointer"], decisions=4096, minibatch=512, epochs=2),
    "pointer 128": _pointer(CASES["pointer"].spec, 128),
    "doubles 64": _pointer(doubles(), 64),
    "doubles 128": _pointer(doubles(), 128),
    "transformer": Task(CASES["transformer"], decisions=4096, minibatch=512, epochs=2),
}
WAYS: Mapping[str, ComputeConfig] = {
    "plain": ComputeConfig(fused=False, pinned=False),
    "fused": ComputeConfig(graphs=False, pinned=False),  # the default on a CPU
    "bf16": ComputeConfig(fused=False, precision="bf16", pinned=False),
    "compiled": ComputeConfig(fused=False, compile=True, pinned=False),
}
CUDA_WAYS: Mapping[str, ComputeConfig] = {
    **WAYS,
    "pinned": ComputeConfig(fused=False, pinned=True),
    "fp16": ComputeConfig(fused=False, precision="fp16", pinned=False),
    "graphs": ComputeConfig(),  # the default on CUDA
    "graphs_bf16": ComputeConfig(precision="bf16"),
    "compiled_graphs": ComputeConfig(compile=True),
}


def ours(task: Task, compute: ComputeConfig, device: torch.device) -> Update:
    generator = torch.Generator().manual_seed(1)
    algorithm = Ppo(task.case.net(), task.case.spec, task.config(compute), generator, device)
    batch = segments(task)

    def update() -> None:
        if names.SKIPPED in algorithm.update(batch, LR):
            raise RuntimeError("an update was skipped: this measures nothing")

    return update


def segments(task: Task) -> SegmentBatch:
    """Return random segments with matches of 40 decisions."""
    random = np.random.default_rng(1)
    batch = SegmentLayout(task.case.spec, task.decisions // SEGMENT, SEGMENT).allocate()
    arrivals = task.case.arrivals(task.decisions)
    shape = batch.action.shape
    batch.obs[:] = arrivals.obs.reshape(batch.obs.shape)
    batch.legal[:] = arrivals.legal.reshape(batch.legal.shape)
    batch.action[:] = arrivals.legal.argmax(1).reshape(shape)
    batch.logp[:] = -np.log(task.case.spec.actions)
    batch.value[:] = random.normal(size=shape)
    batch.reward[:] = random.normal(size=shape)
    batch.ends[:] = random.random(shape) < 1 / 40
    return batch


def _sb3_model(task: Task) -> Any:  # Any: an extra that is imported when it is needed
    """Return Stable-Baselines3's PPO with a net of the same shape as ours."""
    import gymnasium
    from stable_baselines3 import PPO
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from stable_baselines3.common.vec_env import DummyVecEnv

    leaf, hidden = task.case.spec.obs.leaves[0], 4 * task.case.config.width
    config = task.config(ComputeConfig())

    class Body(BaseFeaturesExtractor):
        def __init__(self, space: gymnasium.Space[Any]) -> None:  # Any: what observations are made of
            super().__init__(space, hidden)
            sizes = [leaf.shape[0]] + [hidden] * task.case.config.layers
            layers = [(torch.nn.Linear(a, b), torch.nn.ReLU()) for a, b in pairwise(sizes)]
            self.body = torch.nn.Sequential(*(part for pair in layers for part in pair))

        def forward(self, observations: torch.Tensor) -> torch.Tensor:
            features: torch.Tensor = self.body(observations)
            return features

    class Nothing(gymnasium.Env[NDArray[np.float32], np.int64]):
        """An environment that is never stepped. It only declares its spaces."""

        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, leaf.shape, np.float32)
        action_space: gymnasium.spaces.Discrete[np.int64] = gymnasium.spaces.Discrete(task.case.spec.actions)

    model = PPO(
        "MlpPolicy",
        DummyVecEnv([Nothing for _ in range(task.decisions // SEGMENT)]),
        learning_rate=LR,
        n_steps=SEGMENT,
        batch_size=task.minibatch,
        n_epochs=task.epochs,
        gamma=config.gamma,
        gae_lambda=config.ppo.gae_lambda,
        clip_range=config.ppo.clip,
        ent_coef=config.entropy_coef,
        vf_coef=config.value_coef,
        max_grad_norm=config.max_grad_norm,
        policy_kwargs={"features_extractor_class": Body, "net_arch": []},
        device="cpu",
    )
    model.set_logger(Logger(None, []))
    return model


def sb3(task: Task) -> tuple[Update, Update]:
    """Return two functions for Stable-Baselines3 on the CPU with the same net: preparation, not timed, and update.

    Its net shares one body for policy and value, as ours does. It does not support masks, so it runs without them.
    """
    leaf, environments = task.case.spec.obs.leaves[0], task.decisions // SEGMENT
    model = _sb3_model(task)
    ours_has = sum(part.numel() for part in task.case.net().parameters())
    theirs_has = sum(part.numel() for part in model.policy.parameters())
    if ours_has != theirs_has:
        raise RuntimeError(f"the nets differ: ours has {ours_has} weights, Stable-Baselines3's {theirs_has}")
    batch, buffer = segments(task), model.rollout_buffer
    obs = task.case.spec.obs.leaf(batch.obs, leaf.name)
    last_value, done = torch.zeros(environments), np.zeros(environments)

    def fill() -> None:
        buffer.reset()
        for t in range(SEGMENT):
            starts = np.zeros(environments) if t == 0 else batch.ends[:, t - 1].astype(np.float64)
            value, logp = torch.from_numpy(batch.value[:, t]), torch.from_numpy(batch.logp[:, t])
            buffer.add(obs[:, t], batch.action[:, t, None], batch.reward[:, t], starts, value, logp)

    def update() -> None:
        buffer.compute_returns_and_advantage(last_value, done)
        model.train()

    return fill, update
