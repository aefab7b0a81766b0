"""Columns taken by place, against slicing and joining the leaves."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ludus.games.showdown.net.columns import FeatureColumns
from ludus.spec import ObsSpec

ROWS = 3


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("full", [False, True])
def test_features_are_those_of_the_leaves(slots: int, full: bool) -> None:
    fields: dict[str, tuple[str, tuple[int, ...]]] = {
        "pokemon": ("fixed16", (12, 9)),
        "move_state": ("fixed8", (12, 4, 3)),
        "boosts": ("int8", (2 * slots, 7)),
        "volatiles": ("uint8", (2 * slots, 5)),
    }
    if full:
        fields |= {"matchup": ("fixed8", (6, 4, slots, 5)), "threat": ("fixed8", (slots, 4, 6, 5))}
        fields["duel"] = ("float32", (6, slots, 4))
    leaves = {leaf.name: leaf for leaf in ObsSpec.pack(fields).leaves}
    random = np.random.default_rng(0)
    stored, obs = {}, {}
    for name, leaf in leaves.items():
        values = (
            random.uniform(-1, 1, (ROWS, *leaf.shape)) / leaf.unit
            if leaf.is_real
            else random.integers(0, 6, (ROWS, *leaf.shape))
        )
        stored[name] = torch.from_numpy(values.astype(leaf.storage_dtype))
        obs[name] = stored[name] * leaf.unit if leaf.is_real else stored[name]
    columns = FeatureColumns(leaves)
    found = columns(stored)

    common = torch.cat((obs["pokemon"], obs["move_state"].mean(2)), dim=2)
    live = torch.cat((obs["boosts"] / 6, obs["volatiles"].float()), dim=2)
    own, foe, foe_live = [common[:, :6]], [common[:, 6:]], [live[:, slots:]]
    state = obs["move_state"][:, :slots]
    if full:
        gives, takes = obs["matchup"], obs["threat"].permute(0, 3, 2, 1, 4)
        summary = (gives.amax(2), gives.mean(2), takes.amax(2), takes.mean(2), obs["duel"])
        own = [part.flatten(2) for part in summary] + own
        threat = obs["threat"][:, :, :, :slots].flatten(3)
        foe_live += [threat.amax(2), threat.mean(2), obs["duel"][:, :slots].transpose(1, 2).flatten(2)]
        if slots == 1:
            state = torch.cat((state, gives[:, :1, :, 0], obs["duel"][:, :1].expand(-1, -1, 4, -1)), dim=3)
    for name, parts in (("own", own), ("foe", foe), ("own_active", [live[:, :slots]]), ("foe_active", foe_live)):
        torch.testing.assert_close(found[name], torch.cat(parts, dim=2))
    torch.testing.assert_close(found["state"], state)
    assert columns.own_only == found["own"].shape[2] - common.shape[2]
