"""`NetPolicy`: a policy that chooses its actions with a net, in one batched forward pass per call."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ludus.policies.gpu.streams import Stream
from ludus.policies.hidden_states import RowStates
from ludus.policies.inference import TorchPath, choose_path
from ludus.policies.launching import LaunchingPolicy, Wait
from ludus.policies.nets.net import Net
from ludus.policies.sampling import SampledBatch, Sampler
from ludus.policies.weights import FlatWeights
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices


class NetPolicy(LaunchingPolicy):
    """Plays with its own copy of a net's weights, on the CPU or on the device of a `stream`.

    greedy: take the most probable action instead of a sample. temperature: draw with probabilities to the power
    1 / temperature; other values than 1 need the CPU. bf16: compute the linear layers in bfloat16. generator:
    source of the random numbers; default: a generator with seed 0.
    """

    def __init__(
        self,
        net: Net,
        spec: GameSpec,
        *,
        version: int = 0,
        generator: torch.Generator | None = None,
        greedy: bool = False,
        temperature: float = 1.0,
        stream: Stream | None = None,
        bf16: bool = False,
    ) -> None:
        device = torch.device("cpu") if stream is None else stream.device
        self.net = net.to(device).eval()
        self.weights = FlatWeights(net)
        self.version = version
        self.generator = generator if generator is not None else torch.Generator().manual_seed(0)
        self.states = None if net.core is None else RowStates(net.core)
        self.sampler = Sampler(self.generator, greedy=greedy, temperature=temperature)
        self._torch = TorchPath(net, self.weights, spec, self.sampler, self.states, bf16=bf16)
        self.path = choose_path(self._torch, stream)

    @property
    def launches(self) -> bool:
        """True if `launch` returns before the actions are computed."""
        return self.path.launches

    def adopt(self, weights: NDArray[np.float32] | None, version: int) -> None:
        """Play with these weights, of this version, from now on. Pass None if the net's weights were changed in
        place."""
        if weights is not None:
            self.weights.load(weights)
        self.path.refresh()
        self.version = version

    def act(self, arrivals: Arrivals) -> Choices:
        return self._choices(self.path.launch(arrivals)())

    def launch(self, arrivals: Arrivals) -> Wait:
        collect = self.path.launch(arrivals)
        return lambda: self._choices(collect())

    def values(self, obs: NDArray[np.uint8], row: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the values [n] of observations [n, nbytes] without choosing actions, to bootstrap truncated matches.
        `row` [n] selects the hidden states, which stay unchanged."""
        return self._torch.values(obs, row)

    def evaluate(
        self, obs: NDArray[np.uint8], legal: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the log-probabilities of all actions [n, A] and the values [n] of observations [n, nbytes] with masks
        [n, A], without choosing actions. Only for nets without a hidden state."""
        assert self.states is None
        return self._torch.evaluate(obs, legal)

    def _choices(self, sampled: SampledBatch) -> Choices:
        return Choices(sampled.action, sampled.logp, sampled.value, self.version, sampled.hidden_state)
