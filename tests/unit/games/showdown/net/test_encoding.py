"""The encoder of Pokemon against the same steps one by one, whose gradient torch works out."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from ludus.games.showdown.net.columns import FeatureColumns
from ludus.games.showdown.net.encoding import encode
from ludus.spec import Leaf

ROWS, WIDTH, NAMES = 7, 5, 30


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("full", [False, True])
def test_encoding_and_its_gradient_are_those_of_its_steps(slots: int, full: bool) -> None:
    torch.manual_seed(0)
    shapes: dict[str, tuple[int, ...]] = {
        "pokemon": (12, 9),
        "move_state": (12, 4, 3),
        "boosts": (2 * slots, 7),
        "volatiles": (2 * slots, 5),
    }
    if full:
        shapes |= {"matchup": (6, 4, slots, 5), "threat": (slots, 4, 6, 5), "duel": (6, slots, 4)}
    columns = FeatureColumns({name: Leaf(name, "float32", shape, 0) for name, shape in shapes.items()})
    inputs = columns({name: torch.rand(ROWS, *shape) for name, shape in shapes.items()})
    inputs["names"] = torch.randint(0, NAMES, (ROWS, 12, 4))
    inputs["names"][:, 10], inputs["foe"][:, 4] = inputs["names"][:, 11], inputs["foe"][:, 5]  # equal ones on the bench
    names = torch.randn(NAMES, WIDTH, requires_grad=True)
    into = nn.Linear(inputs["own"].shape[2] + inputs["foe_active"].shape[2], WIDTH, bias=False)
    out = nn.Linear(WIDTH, WIDTH)
    weights = [names, into.weight, out.weight, out.bias]

    found = encode(names, inputs, columns, into, out)
    plain = _one_by_one(names, inputs, columns, into, out)
    for ours, theirs in zip(found, plain, strict=True):
        torch.testing.assert_close(ours, theirs)
    factors = [torch.randn_like(part) for part in found]
    gradients, expected = (torch.autograd.grad(said, weights, factors) for said in (found, plain))
    for ours, theirs in zip(gradients, expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    with torch.no_grad():
        for ours, theirs in zip(encode(names, inputs, columns, into, out), found, strict=True):
            torch.testing.assert_close(ours, theirs)


def _one_by_one(
    names: Tensor, inputs: dict[str, Tensor], columns: FeatureColumns, into: nn.Linear, out: nn.Linear
) -> tuple[Tensor, Tensor]:
    """Weights are for own features, those both sides have, those of active Pokemon, those of active foes."""
    slots, own_only = columns.slots, columns.own_only
    resting = [(ROWS, 6 - slots, inputs[name].shape[2]) for name in ("own_active", "foe_active")]
    live = [
        torch.cat((inputs[name], torch.zeros(shape)), dim=1)
        for name, shape in zip(("own_active", "foe_active"), resting, strict=True)
    ]
    own, foe = torch.cat((inputs["own"], live[0]), dim=2), torch.cat((inputs["foe"], live[1]), dim=2)
    named = embedding(inputs["names"], names).sum(2)
    hidden = torch.cat(
        (
            named[:, :6] + own @ into.weight[:, : own.shape[2]].t(),
            named[:, 6:] + foe @ into.weight[:, own_only : own_only + foe.shape[2]].t(),
        )
    )
    encoded = out(hidden.relu()).relu()
    rest = encoded[:, slots:]
    pooled = torch.cat((encoded[:, :slots].flatten(1), rest.mean(1), rest.amax(1)), dim=1)
    return encoded[:ROWS], pooled
