"""An untrained copy of the net: a target net, or a policy that the trained one should stay close to."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from torch import Tensor

from ludus.errors import CheckpointError
from ludus.learner.optimiser import Optimiser
from ludus.policies.weights import FlatWeights


class Reference:
    """A copy of the trained net that changes only by `follow`. `name` is the prefix of its weights in a checkpoint."""

    def __init__(self, name: str, optimiser: Optimiser) -> None:
        self.name = name
        self.net = copy.deepcopy(optimiser.net)
        self.weights = FlatWeights(self.net)

    def follow(self, vector: Tensor, share: float = 1.0) -> None:
        """Move the weights this share of the way to `vector` (Polyak averaging); 1 copies them."""
        with torch.no_grad():
            if share == 1.0:
                self.weights.vector.copy_(vector)
            else:
                self.weights.vector.lerp_(vector, share)

    def state(self) -> dict[str, Tensor]:
        return {f"{self.name}.{name}": tensor for name, tensor in self.weights.split(self.weights.vector).items()}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restore the weights. Ignores unknown names; raises CheckpointError if a name is missing."""
        mine = self.state()
        missing = [name for name in mine if name not in state]
        if missing:
            raise CheckpointError(
                f"the checkpoint lacks {', '.join(missing[:3])}: it belongs to another algorithm or net"
            )
        for name, tensor in mine.items():
            tensor.copy_(state[name])
