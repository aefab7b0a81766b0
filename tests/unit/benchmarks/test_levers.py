"""benchmarks/bench_levers.py: its design and the effects it computes."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.bench_levers import SWEEPS, design, effects, name_of, settings_of


def test_changes_are_independent_of_one_another() -> None:
    signs = np.where(np.array(design()), 1, -1)
    assert all(signs.shape == (8, len(sweep.levers)) for sweep in SWEEPS.values())
    np.testing.assert_array_equal(signs.T @ signs, 8 * np.eye(5))
    np.testing.assert_array_equal(signs.sum(axis=0), 0)
    assert len(set(map(name_of, design()))) == 8


def test_effects_are_found_with_an_interval_of_their_noise() -> None:
    true = (-0.03, 0.0, 0.05, 0.01, -0.02)
    values = [0.8 + sum(effect for effect, made in zip(true, row, strict=True) if made) for row in design()]
    found, half = effects(design(), values)
    assert found == pytest.approx(true)
    assert half == pytest.approx(0.0, abs=1e-9)
    noise = np.random.default_rng(1).normal(0, 0.01, (2000, 8))
    inside = []
    for row in noise:
        found, half = effects(design(), list(np.array(values) + row))
        inside += [abs(each - effect) <= half for each, effect in zip(found, true, strict=True)]
    assert 0.93 < np.mean(inside) < 0.97


def test_every_training_has_valid_settings_and_makes_its_changes() -> None:
    for row in design():
        settings = settings_of("gen9", row, 1.0, 40)
        assert settings["learner"]["decisions"] == (16384 if row[3] else 4096)
        assert settings["policy"]["net"] == ("tokens" if row[2] else "auto")
        assert bool(settings["curriculum"]) == row[1]
        settings = settings_of("rocket", row, 1.0, 40)
        assert settings["options"]["opponent_scale"] == (1 if row[0] else 0)
        assert settings["policy"]["width"] == (128 if row[4] else 64)
        assert settings["evaluation"]["opponents"] == ("chaser", "keeper")
