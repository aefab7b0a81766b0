"""`Net`, the base class of all nets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from torch import Tensor, nn

from ludus.policies.distributions import Distribution
from ludus.policies.nets.heads import Heads
from ludus.policies.nets.recurrence import Core, Recall
from ludus.policies.nets.values import ValueBins
from ludus.spec import GameSpec

if TYPE_CHECKING:
    from ludus.policies.cpu.chooser import Chooser


class Net(nn.Module, ABC):
    """Maps observations and a mask of legal actions to a distribution over the actions and a value.

    A subclass is built as `Class(spec, config)` and must implement `outputs`. The other methods have defaults; override
    them to make learning or playing faster.
    """

    exact: ClassVar[tuple[str, ...]] = ()
    """Names of linear layers that keep float32 weights when the net plays in bfloat16."""

    core: Core | None
    """The recurrent layer; None if the net has no hidden state. Set it in the constructor, with `build_core`."""

    bins: ValueBins | None
    """How to read the output of a categorical value head; None if the value is one number. Set it in the constructor,
    with `build_bins`."""

    def __init__(self) -> None:
        super().__init__()
        self.core = None
        self.bins = None

    @abstractmethod
    def outputs(
        self, inputs: Mapping[str, Tensor], legal: Tensor, recall: Recall | None = None
    ) -> tuple[Distribution, Tensor]:
        """Return the distribution over the actions of n rows, and the output of the value head: the values [n] or, if
        the net has `bins`, logits [n, bins].

        inputs: what `prepare` returned. legal: bool [n, A]. recall: adds the hidden states to the rows' contexts; pass
        it to `recurrence.recalled`. None if the rows are the first decisions of their matches.
        """

    def forward(
        self, obs: Mapping[str, Tensor], legal: Tensor, recall: Recall | None = None
    ) -> tuple[Distribution, Tensor]:
        """Return the distribution and the values [n] of observations: one tensor [n, *shape] per leaf, in the dtypes of
        the game's spec."""
        dist, value = self.outputs(self.prepare(obs, legal), legal, recall)
        return dist, self.expected(value)

    def expected(self, value: Tensor) -> Tensor:
        """Return the values [n], given the output of the value head."""
        return value if self.bins is None else self.bins.expected(value)

    if TYPE_CHECKING:  # nn.Module does not type its calls

        def __call__(
            self, obs: Mapping[str, Tensor], legal: Tensor, recall: Recall | None = None
        ) -> tuple[Distribution, Tensor]: ...

    def prepare(self, obs: Mapping[str, Tensor], legal: Tensor) -> Mapping[str, Tensor]:
        """Return the tensors that `outputs` reads, each with the n rows as first axis. It must not use the weights: the
        learner calls it once per update, not once per minibatch. Default: the observations themselves."""
        return obs

    def forward_to_heads(self, inputs: Mapping[str, Tensor], recall: Recall | None = None) -> Heads | None:
        """Compute `outputs` up to the last layers, in as few CUDA kernels as possible and without gradients. The caller
        computes the heads and samples in one fused kernel. Default: None, which means that `outputs` is used."""
        return None

    def freeze_tables(self) -> None:
        """Precompute whatever depends only on the weights. Called after every change of the weights, if the net plays
        without a chooser. Default: nothing."""

    def chooser(self, spec: GameSpec) -> Chooser | None:
        """Return a second implementation for small batches on the CPU. Default: None, which means that PyTorch runs
        `forward`."""
        return None


def forward_fused(
    net: Net, obs: Mapping[str, Tensor], legal: Tensor, recall: Recall | None = None
) -> Heads | tuple[Distribution, Tensor]:
    """Return `net.forward_to_heads`, whose heads the caller computes, or the distribution and the values [n] if the net
    does not implement it."""
    inputs = net.prepare(obs, legal)
    heads = net.forward_to_heads(inputs, recall)
    if heads is not None:
        return heads._replace(bins=net.bins)
    dist, value = net.outputs(inputs, legal, recall)
    return dist, net.expected(value)
