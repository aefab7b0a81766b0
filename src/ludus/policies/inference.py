"""The inference path of a policy: how it computes actions, chosen once when the policy is built.

`choose_path` is the only place that decides:

| path | when |
| --- | --- |
| `GraphPath` | the policy has a stream, that is, it plays on a CUDA device: CUDA graphs (`gpu/graphs.py`) |
| `ChooserPath` | on the CPU in float32, if the net has a `chooser`: numpy, without PyTorch's per-op overhead |
| `TorchPath` | otherwise, with a temperature, and for rows that a chooser does not support: `Net.forward` |

`placement.py` decides before that on which device a policy plays. bfloat16 works on `TorchPath` and `GraphPath`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from ludus.policies.cpu.chooser import Chooser
from ludus.policies.gpu.graphs import Engine
from ludus.policies.gpu.rounding import Rounded
from ludus.policies.gpu.streams import Stream
from ludus.policies.hidden_states import RowStates
from ludus.policies.nets.net import Net, forward_fused
from ludus.policies.sampling import SampledBatch, Sampler
from ludus.policies.staging import Staging
from ludus.policies.weights import FlatWeights
from ludus.spec import GameSpec
from ludus.types import Arrivals

Collect = Callable[[], SampledBatch]


class InferencePath(Protocol):
    """Computes actions for batches of rows."""

    launches: bool
    """Whether `launch` returns before the actions are computed."""

    def refresh(self) -> None:
        """Use the net's current weights from now on. Call it after every change of the weights."""
        ...

    def launch(self, arrivals: Arrivals) -> Collect:
        """Start to compute actions. Returns a function that waits for them and returns them; call it before the next
        `launch`."""
        ...


def choose_path(torch_path: TorchPath, stream: Stream | None) -> InferencePath:
    """Return the inference path of a policy, ready to play with its current weights. `stream` is None on the CPU."""
    path: InferencePath = torch_path
    if torch_path.sampler.temperature != 1:
        assert stream is None, "only PyTorch on the CPU draws with a temperature"
    elif stream is not None:
        path = GraphPath(torch_path, stream)
    elif not torch_path.bf16:
        chooser = torch_path.net.chooser(torch_path.spec)
        path = torch_path if chooser is None else ChooserPath(torch_path, chooser)
    path.refresh()
    return path


class TorchPath:
    """Runs `Net.forward` with PyTorch, operation by operation, on the device of the weights."""

    launches = False

    def __init__(
        self,
        net: Net,
        weights: FlatWeights,
        spec: GameSpec,
        sampler: Sampler,
        states: RowStates | None,
        *,
        bf16: bool = False,
    ) -> None:
        self.spec, self.sampler, self.states, self.bf16 = spec, sampler, states, bf16
        self.device = weights.vector.device
        self._rounded = Rounded(net, weights) if bf16 else None
        self.net = net if self._rounded is None else self._rounded.net
        self._staging = Staging(spec, self.device)

    def refresh(self) -> None:
        if self._rounded is not None:
            self._rounded.refresh()
        with self.precision():
            self.net.freeze_tables()

    def precision(self) -> AbstractContextManager[object]:
        """Return the context (autocast or none) for forward passes and for sampling. Sampling needs it because some
        distributions run a part of the net again."""
        if not self.bf16:
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16, cache_enabled=False)

    def launch(self, arrivals: Arrivals) -> Collect:
        states = self.states
        with torch.inference_mode(), self.precision():
            obs, legal = self._staging.put(arrivals.obs, arrivals.legal)
            recall = None if states is None else states.recall(arrivals.row, arrivals.opens)
            dist, value = self.net(obs, legal, recall)
            action = self.sampler.action(dist)
            logp = dist.log_prob(action)
            if states is not None and recall is not None:
                states.keep(recall)
        before = None if recall is None else recall.before.numpy()
        sampled = SampledBatch(action.to(torch.int32).numpy(), logp.numpy(), value.float().numpy(), before)
        return lambda: sampled

    def values(self, obs: NDArray[np.uint8], row: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the values [n] of observations [n, nbytes] that need no action. Hidden states stay unchanged."""
        with torch.inference_mode(), self.precision():
            leaves, legal = self._staging.put(obs, np.ones((len(obs), self.spec.actions), np.bool_))
            recall = None if self.states is None else self.states.recall(row, np.zeros(len(row), np.bool_))
            _, value = self.net(leaves, legal, recall)
        values: NDArray[np.float32] = value.float().cpu().numpy()
        return values

    def evaluate(
        self, obs: NDArray[np.uint8], legal: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the log-probabilities of all actions [n, A] and the values [n] of observations that search made."""
        with torch.inference_mode(), self.precision():
            leaves, mask = self._staging.put(obs, legal)
            dist, value = self.net(leaves, mask, None)
            each = [dist.log_prob(torch.full((len(obs),), a, device=value.device)) for a in range(self.spec.actions)]
            logp = torch.stack(each, 1)
        return logp.double().cpu().numpy(), value.double().cpu().numpy()


class ChooserPath:
    """Runs the net's numpy implementation on the CPU."""

    launches = False

    def __init__(self, torch_path: TorchPath, chooser: Chooser) -> None:
        self._torch, self._chooser = torch_path, chooser
        self._sampler, self._states = torch_path.sampler, torch_path.states

    def refresh(self) -> None:
        self._chooser.refresh()

    def launch(self, arrivals: Arrivals) -> Collect:
        if not self._chooser.takes(arrivals.legal):
            return self._torch.launch(arrivals)
        obs, legal = arrivals.obs, arrivals.legal
        uniform = self._sampler.uniform(self._chooser.draws, len(obs))
        before = None
        if self._states is None:
            action, logp, value = self._chooser.choose(obs, legal, uniform)
        else:
            with torch.inference_mode():
                recall = self._states.recall(arrivals.row, arrivals.opens)
                action, logp, value = self._chooser.choose(obs, legal, uniform, recall)
                self._states.keep(recall)
            before = recall.before.numpy()
        sampled = SampledBatch(action.astype(np.int32), logp, value, before)
        return lambda: sampled


class GraphPath:
    """Replays CUDA graphs of the forward pass and the sampling."""

    launches = True

    def __init__(self, torch_path: TorchPath, stream: Stream) -> None:
        self._torch, self._stream, self._sampler = torch_path, stream, torch_path.sampler
        self.refresh()  # the engine runs the net once to count the random numbers per row
        self.engine = Engine(
            torch_path.net,
            torch_path.spec,
            stream,
            greedy=self._sampler.greedy,
            states=torch_path.states,
            precision=torch_path.precision,
            fused=partial(forward_fused, torch_path.net),
        )

    def refresh(self) -> None:
        self._torch.refresh()
        self._stream.follow()

    def launch(self, arrivals: Arrivals) -> Collect:
        self.engine.launch(arrivals, self._sampler.uniform(self.engine.draws, len(arrivals)))
        return self.engine.collect
