"""Terms are left out of the options of a run and of every stage of its curriculum, with rocket as the game."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ludus.actors.resolved import ResolvedRun, resolve
from ludus.diagnostics import ablated_settings
from ludus.errors import ConfigError

WEIGHTS = {"goal": 10.0, "touch": 0.5, "boost": 0.1}


def run(options: dict[str, Any] | None = None, **settings: Any) -> ResolvedRun:  # Any: plain data of a run
    return resolve({"game": "rocket", "options": {"rewards": WEIGHTS} if options is None else options, **settings})


def weights(settings: dict[str, Any]) -> dict[str, float]:
    """Return the terms that count in these settings, as a run reads them."""
    resolved = resolve(settings)
    assert resolved.game.reward_terms is not None
    return dict(resolved.game.reward_terms.weights(resolved.options))


def test_a_term_is_left_out_and_the_others_keep_their_weights() -> None:
    assert weights(ablated_settings.without(run(), ["touch"])) == {"goal": 10.0, "boost": 0.1}
    assert weights(ablated_settings.without(run(), [])) == WEIGHTS


def test_default_rewards_and_those_of_a_file_can_be_left_out_too(tmp_path: Path) -> None:
    default = run({})
    assert "touch" not in weights(ablated_settings.without(default, ["touch"]))
    (tmp_path / "r.yaml").write_text("weights: {goal: 1, touch: 2, save: 0}\nteam_spirit: 0.25\n")
    from_file = run({"rewards_file": str(tmp_path / "r.yaml"), "team_size": 2})
    assert ablated_settings.terms_of(from_file) == ["goal", "touch"]
    left = ablated_settings.without(from_file, ["touch"])
    assert weights(left) == {"goal": 1.0}
    assert left["options"]["team_spirit"] == 0.25


def test_terms_are_left_out_in_every_stage_however_it_sets_them() -> None:
    stages = [
        {"name": "a", "set": {"options.rewards": {"goal": 1, "touch": 2}}, "promote": {"updates": 1}},
        {"name": "b", "set": {"options.rewards.touch": 3}, "promote": {"updates": 1}},
        {"name": "c"},
    ]
    whole = run(curriculum=stages)
    assert ablated_settings.terms_of(whole) == ["goal", "touch", "boost"]
    stripped = resolve(ablated_settings.without(whole, ["touch"]))
    assert stripped.game.reward_terms is not None
    found = [dict(stripped.game.reward_terms.weights(stage.options)) for stage in stripped.stages]
    assert found == [{"goal": 1.0}, {"goal": 10.0, "boost": 0.1}, {"goal": 10.0, "boost": 0.1}]


def test_a_stage_in_which_nothing_would_be_left_is_named() -> None:
    stages = [{"name": "a", "set": {"options.rewards": {"touch": 2}}, "promote": {"updates": 1}}, {"name": "b"}]
    with pytest.raises(ConfigError, match="stage a: without touch nothing is left"):
        ablated_settings.without(run(curriculum=stages), ["touch"])


def test_an_unknown_term_is_refused_with_the_nearest_one() -> None:
    assert ablated_settings.chosen_terms(run(), None) == ["goal", "touch", "boost"]
    assert ablated_settings.chosen_terms(run(), " boost,touch,boost") == ["boost", "touch"]
    with pytest.raises(ConfigError, match=r"no term 'tuch' in this run.*touch"):
        ablated_settings.chosen_terms(run(), "tuch")
    with pytest.raises(ConfigError, match="names no term"):
        ablated_settings.chosen_terms(run(), ",")


def test_a_game_without_named_terms_is_refused() -> None:
    with pytest.raises(ConfigError, match="the reward of toy has no named terms"):
        ablated_settings.chosen_terms(resolve({"game": "toy"}), None)


def test_openfront_can_leave_out_terms_of_its_defaults_and_of_sparse_rewards() -> None:
    default = resolve({"game": "openfront"})
    assert ablated_settings.terms_of(default) == ["win", "loss", "land", "kill"]
    assert weights(ablated_settings.without(default, ["land"])) == {"win": 1.0, "loss": -1.0, "kill": 0.1}
    sparse = resolve({"game": "openfront", "options": {"sparse": True}})
    assert weights(ablated_settings.without(sparse, ["loss"])) == {"win": 1.0}
