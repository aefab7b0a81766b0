"""The 90 actions: every useful combination of a controller's sticks and buttons, in the order of RLGym's table."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

NAMES = ("throttle", "steer", "pitch", "yaw", "roll", "jump", "boost", "handbrake")
ACTIONS = 90

_STICK, _BUTTON = (-1, 0, 1), (0, 1)


def table() -> NDArray[np.float32]:
    """Return the table of actions [90, 8]; the columns are NAMES."""
    ground = [
        (throttle or boost, steer, 0, steer, 0, 0, boost, handbrake)
        for throttle, steer, boost, handbrake in product(_STICK, _STICK, _BUTTON, _BUTTON)
        if throttle == 1 or not boost
    ]
    aerial = [
        (boost, yaw, pitch, yaw, roll, jump, boost, int(jump and (pitch or yaw or roll) != 0))
        for pitch, yaw, roll, jump, boost in product(_STICK, _STICK, _STICK, _BUTTON, _BUTTON)
        if not (jump and yaw)  # a roll flips sideways already
        and (pitch or roll or jump)  # else it is one of the ground
    ]
    return np.array(ground + aerial, np.float32)


def ground_action(
    throttle: NDArray[np.int64], steer: NDArray[np.int64], boost: NDArray[np.bool_], handbrake: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Return indices [n] into the table for driving on the ground. Boost implies full throttle."""
    full = 12 + (steer + 1) * 4 + boost * 2 + handbrake
    slower = (throttle + 1) * 6 + (steer + 1) * 2 + handbrake
    return np.where(throttle == 1, full, slower).astype(np.int32)


def action_of(**pressed: int) -> int:
    """Return the index of the action that presses exactly these controls."""
    row = [pressed.get(name, 0) for name in NAMES]
    matches = np.flatnonzero((table() == np.array(row, np.float32)).all(axis=1))
    return int(matches[0])
