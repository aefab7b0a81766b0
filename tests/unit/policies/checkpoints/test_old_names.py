from __future__ import annotations

import numpy as np
import pytest

from ludus.policies.checkpoints import old_names


def test_arrays_of_the_hidden_state_get_their_current_name() -> None:
    saved = ("bank.memory", "rollout.open.memory", "kept.memory", "kept.memory_like", "kept.hidden_state.x")
    arrays = {name: np.array([number]) for number, name in enumerate(saved)}
    assert {name: int(array[0]) for name, array in old_names.current_arrays(arrays).items()} == {
        "bank.hidden_state": 0,
        "rollout.open.hidden_state": 1,
        "kept.hidden_state": 2,
        "kept.memory_like": 3,
        "kept.hidden_state.x": 4,
    }


def test_settings_in_a_state_get_their_current_name() -> None:
    state = {"version": 3, "policy": {"width": 8, "memory": {"kind": "gru"}}}
    assert old_names.current_state(state) == {"version": 3, "policy": {"width": 8, "recurrent": {"kind": "gru"}}}


@pytest.mark.parametrize("state", [[1], 3, None, {"policy": 4}])
def test_other_data_stays_for_the_reader_to_refuse(state: object) -> None:
    assert old_names.current_state(state) == state
