from __future__ import annotations

import numpy as np

from ludus.games.toy.matches import spec_of
from ludus.games.toy.options import ToyOptions
from ludus.games.toy.scripted import RandomPolicy
from ludus.types import Arrivals, Resumable


def test_the_random_policy_goes_on_with_its_draws() -> None:
    spec = spec_of(ToyOptions())
    nothing = np.zeros(50, np.float32)
    arrivals = Arrivals(
        np.arange(50, dtype=np.int32),
        np.arange(50),
        np.zeros((50, spec.obs.nbytes), np.uint8),
        np.ones((50, spec.actions), np.bool_),
        nothing,
        nothing > 0,
    )
    first, second = RandomPolicy(spec, 1), RandomPolicy(spec, 2)
    assert isinstance(first, Resumable)
    first.act(arrivals)
    second.restore(first.state())
    assert first.act(arrivals).action.tolist() == second.act(arrivals).action.tolist()
