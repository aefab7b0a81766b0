from __future__ import annotations

import pytest

from ludus.config.settings import LearnerConfig, RolloutConfig
from ludus.errors import ConfigError
from ludus.learner import algorithms
from ludus.learner.algorithms import ALGORITHMS
from ludus.learner.skeleton import Algorithm
from ludus.metrics import names


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_name_leads_to_an_algorithm_that_reports_documented_numbers(name: str) -> None:
    algorithm = algorithms.find(name)
    assert issubclass(algorithm, Algorithm)
    assert not algorithm.__abstractmethods__
    assert set(algorithm.reported) <= names.KINDS.keys()
    assert names.GRAD_NORM not in algorithm.reported


@pytest.mark.parametrize("name", ALGORITHMS)
def test_segments_that_are_too_short_for_an_algorithm_are_refused(name: str) -> None:
    shortest = algorithms.find(name).min_segment
    algorithms.refuse_unfit(LearnerConfig(algorithm=name), RolloutConfig(segment=shortest))
    if shortest > 1:
        with pytest.raises(ConfigError, match=rf"rollout\.segment: .* learner\.algorithm: {name}; at least {shortest}"):
            algorithms.refuse_unfit(LearnerConfig(algorithm=name), RolloutConfig(segment=shortest - 1))


def test_an_unknown_algorithm_is_refused_with_the_closest_name() -> None:
    with pytest.raises(ConfigError, match=r"learner\.algorithm: unknown algorithm 'vtrac'; did you mean vtrace\?"):
        algorithms.refuse_unfit(LearnerConfig(algorithm="vtrac"), RolloutConfig())
