"""Newton's method finds the mode of posteriors that are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.league import newton
from ludus.league.newton import Reals


def test_the_mode_of_a_normal_posterior_is_the_weighted_mean() -> None:
    data, information = np.array([3.0, -1.0]), np.diag([2.0, 4.0])

    def likelihood(parameters: Reals) -> float:
        return -float((parameters - data) @ information @ (parameters - data)) / 2

    def derivatives(parameters: Reals) -> tuple[Reals, Reals]:
        return information @ (data - parameters), information

    precision = np.diag([1.0, 4.0])
    parameters, counted = newton.mode(likelihood, derivatives, precision)
    assert parameters == pytest.approx([2.0, -0.5])
    assert (counted == information).all()
    fixed, _ = newton.mode(likelihood, derivatives, precision, np.array([True, False]))
    assert fixed == pytest.approx([2.0, 0.0])


def test_a_step_that_is_too_long_is_halved() -> None:
    """log cosh has a slope of at most 1, so that far from 0 a whole step of Newton's method leads further away."""

    def derivatives(parameters: Reals) -> tuple[Reals, Reals]:
        slope = np.tanh(parameters - 6.0)
        return -slope, np.diag(1 - slope**2)

    parameters, _ = newton.mode(
        lambda each: -float(np.logaddexp(each - 6.0, 6.0 - each).sum()), derivatives, np.eye(1) * 1e-3
    )
    assert parameters[0] == pytest.approx(6.0, abs=0.01)
