"""Finds the mode of a posterior with a normal prior by Newton's method. Pure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

STEPS = 100  # the method needs about ten
TOLERANCE = 1e-10  # of the last step
SMALLEST_SCALE = 1e-6  # of a step that is halved until it does not lower the posterior

Reals = NDArray[np.float64]


def mode(
    log_likelihood: Callable[[Reals], float],
    derivatives: Callable[[Reals], tuple[Reals, Reals]],
    precision: Reals,
    active: NDArray[np.bool_] | None = None,
) -> tuple[Reals, Reals]:
    """Return the parameters at which the posterior is highest, and the information of the data there.

    `derivatives` returns the gradient and the information (negative Hessian) of the log-likelihood. The prior has the
    mean 0 and this precision. Parameters that are not `active` stay 0.
    """

    def log_posterior(parameters: Reals) -> float:
        return log_likelihood(parameters) - float(parameters @ precision @ parameters) / 2

    parameters = np.zeros(len(precision))
    value, information = log_posterior(parameters), np.zeros_like(precision)
    for _ in range(STEPS):
        gradient, information = derivatives(parameters)
        slope = gradient - precision @ parameters
        step = np.linalg.solve(information + precision, slope if active is None else np.where(active, slope, 0.0))
        scale = 1.0
        while scale > SMALLEST_SCALE:
            candidate = parameters + scale * step
            candidate_value = log_posterior(candidate)
            if candidate_value >= value - 1e-12 * abs(value):
                break
            scale /= 2
        parameters, value = candidate, candidate_value
        if np.abs(scale * step).max() < TOLERANCE:
            break
    return parameters, information
