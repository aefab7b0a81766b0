"""A net as a policy: packed rows in, sampled or best actions out, one batched forward a call."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ludus.policies.distributions import Distribution
from ludus.policies.gpu.graphs import Engine
from ludus.policies.gpu.rounding import Rounded
from ludus.policies.gpu.streams import Stream
from ludus.policies.hidden_states import RowStates
from ludus.policies.launching import Launch, Wait
from ludus.policies.nets import Chooser, ask, core_of, evaluate
from ludus.policies.nets.heads import Heads
from ludus.policies.nets.recurrence import Recall
from ludus.policies.weights import FlatWeights
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices


class NetPolicy:
    """Plays with weights of its own: on the CPU, or on the device of a `lane` by captured graphs, then it can `launch`.

    `greedy` takes the most probable action instead of a sample; with `bf16` the net rounds within a forward.
    """

    def __init__(
        self,
        net: nn.Module,
        spec: GameSpec,
        *,
        version: int = 0,
        generator: torch.Generator | None = None,
        greedy: bool = False,
        lane: Stream | None = None,
        bf16: bool = False,
    ) -> None:
        device = torch.device("cpu") if lane is None else lane.device
        self.net = net.to(device).eval()
        self.weights = FlatWeights(net)
        self.version = version
        self.greedy = greedy
        self.generator = generator if generator is not None else torch.Generator().manual_seed(0)
        self._staging = Staging(spec, device)
        self._rounded = Rounded(net, self.weights) if bf16 else None
        core = core_of(net)
        self.states = None if core is None else RowStates(core)
        chooser = None if bf16 or lane is not None else getattr(net, "chooser", None)
        self._chooser: Chooser | None = None if chooser is None else chooser(spec)
        self.lane = lane
        self.adopt(None, version)
        self.engine: Engine | None = None
        if lane is not None:
            self.engine = Engine(
                self._judge, spec, lane, greedy=greedy, states=self.states, within=self._rounds, joined=self._ask
            )
        self.launch: Launch | None = None if lane is None else self._launch

    def adopt(self, weights: NDArray[np.float32] | None, version: int) -> None:
        """Play with these weights from now on (None: with those the net has)."""
        if weights is not None:
            self.weights.load(weights)
        if self._rounded is not None:
            self._rounded.refresh()
        freeze = self._chooser.refresh if self._chooser else getattr(self._playing, "freeze_tables", None)
        if freeze is not None:
            with self._rounds():
                freeze()
        if self.lane is not None:
            self.lane.follow()
        self.version = version

    def act(self, arrivals: Arrivals) -> Choices:
        if self.launch is not None:
            return self.launch(arrivals)()
        if self._chooser is not None and self._chooser.takes(arrivals.legal):
            return self._choose(self._chooser, arrivals)
        with torch.inference_mode(), self._rounds():
            obs, legal = self._staging.put(arrivals.obs, arrivals.legal)
            recall = None if self.states is None else self.states.recall(arrivals.row, arrivals.opens)
            said, value = self._judge(obs, legal, recall)
            action = said.best() if self.greedy else said.sample(self.generator)
            logp = said.log_prob(action)
            if self.states is not None and recall is not None:
                self.states.keep(recall)
        memory = None if recall is None else recall.before.numpy()
        return Choices(action.to(torch.int32).numpy(), logp.numpy(), value.float().numpy(), self.version, memory)

    def values(self, obs: NDArray[np.uint8], row: NDArray[np.int32]) -> NDArray[np.float32]:
        """The expected return [n] of states [n, nbytes] in which nobody chooses, in matches that these rows play."""
        with torch.inference_mode(), self._rounds():
            leaves, legal = self._staging.put(obs, np.ones((len(obs), self._staging.actions), np.bool_))
            recall = None if self.states is None else self.states.recall(row, np.zeros(len(row), np.bool_))
            _, value = self._judge(leaves, legal, recall)
        found: NDArray[np.float32] = value.float().cpu().numpy()
        return found

    @property
    def _playing(self) -> nn.Module:
        return self.net if self._rounded is None else self._rounded.net

    def _rounds(self) -> AbstractContextManager[object]:
        """What to compute in, the draw included: some distributions ask the net once more."""
        if self._rounded is None:
            return nullcontext()
        return torch.autocast(self._staging.device.type, torch.bfloat16, cache_enabled=False)

    def _judge(self, obs: dict[str, Tensor], legal: Tensor, recall: Recall | None) -> tuple[Distribution, Tensor]:
        return evaluate(self._playing, obs, legal, recall)

    def _ask(self, obs: dict[str, Tensor], legal: Tensor, recall: Recall | None) -> Heads | tuple[Distribution, Tensor]:
        return ask(self._playing, obs, legal, recall)

    def _launch(self, arrivals: Arrivals) -> Wait:
        assert self.engine is not None
        uniform = None
        if not self.greedy:
            uniform = torch.rand(self.engine.draws, len(arrivals), generator=self.generator).numpy()
        self.engine.launch(arrivals, uniform)
        return self._collect

    def _collect(self) -> Choices:
        assert self.engine is not None
        chosen = self.engine.collect()
        return Choices(chosen.action, chosen.logp, chosen.value, self.version, chosen.memory)

    def _choose(self, chooser: Chooser, arrivals: Arrivals) -> Choices:
        uniform = None
        if not self.greedy:
            uniform = torch.rand(chooser.draws, len(arrivals.obs), generator=self.generator).numpy()
        if self.states is None:
            action, logp, value = chooser.choose(arrivals.obs, arrivals.legal, uniform)
            return Choices(action.astype(np.int32), logp, value, self.version)
        with torch.inference_mode():
            recall = self.states.recall(arrivals.row, arrivals.opens)
            action, logp, value = chooser.choose(arrivals.obs, arrivals.legal, uniform, recall)
            self.states.keep(recall)
        return Choices(action.astype(np.int32), logp, value, self.version, recall.before.numpy())


class Staging:
    """Tensors over one reused buffer: rows are copied in once, leaves are slices of ready-made views.

    What `put` returns is overwritten by the next call.
    """

    def __init__(self, spec: GameSpec, device: torch.device | None = None) -> None:
        self.spec, self.actions, self.device = spec, spec.actions, device or torch.device("cpu")
        self._grow(64)

    def put(self, obs: NDArray[np.uint8], legal: NDArray[np.bool_]) -> tuple[dict[str, Tensor], Tensor]:
        """Rows [n, nbytes] and masks [n, A] of any alignment, also of memory that may not be written."""
        rows = len(obs)
        if rows > len(self._obs):
            self._grow(rows)
        np.copyto(self._obs[:rows], obs)
        np.copyto(self._legal[:rows], legal)
        return self._first(rows)

    def _first(self, rows: int) -> tuple[dict[str, Tensor], Tensor]:
        views = self._views.get(rows)
        if views is None:
            views = {name: leaf[:rows] for name, leaf in self._leaves.items()}, self._legal_tensor[:rows]
            self._views[rows] = views
        if self.device.type == "cpu":
            return views
        obs, legal = views
        return {name: leaf.to(self.device) for name, leaf in obs.items()}, legal.to(self.device)

    def _grow(self, rows: int) -> None:
        self._obs = np.zeros((rows, self.spec.obs.nbytes), np.uint8)
        self._legal = np.zeros((rows, self.actions), np.bool_)
        self._leaves = {name: torch.from_numpy(leaf) for name, leaf in self.spec.obs.view(self._obs).items()}
        self._legal_tensor = torch.from_numpy(self._legal)
        self._views: dict[int, tuple[dict[str, Tensor], Tensor]] = {}  # by rows; making them costs more than the copies
