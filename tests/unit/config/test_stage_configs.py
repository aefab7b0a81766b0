from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ludus.config import load
from ludus.config.settings import RunConfig
from ludus.errors import ConfigError
from ludus.games import registry


def options_of(game: str) -> Any:
    return registry.load(game).options


def built(*stages: dict[str, Any], **data: Any) -> RunConfig:
    return checked(*stages, **data).config


def checked(*stages: dict[str, Any], **data: Any) -> load.CheckedConfig:
    return load.checked({"game": "toy", "curriculum": list(stages), **data}, options_of=options_of)


def stage(name: str = "one", **parts: Any) -> dict[str, Any]:
    return {"name": name, "promote": {"updates": 1}, **parts}


LAST: dict[str, Any] = {"name": "last"}


def test_each_stage_has_the_settings_of_the_run_and_its_own_over_them() -> None:
    first = stage(set={"options.dealt": 4, "opponents.scripted": 0.5, "learner.lr": 0.01})
    run = checked(first, stage("two", set={"options.dealt": 8}), LAST, options={"pile": 16}, learner={"lr": 0.02})
    one, two, last = (each.config for each in run.stages)
    assert [each.options["dealt"] for each in (one, two, last)] == [4, 8, 0]
    assert [each.options["pile"] for each in (one, two, last)] == [16, 16, 16]
    assert [each.learner.lr for each in (one, two, last)] == [0.01, 0.02, 0.02]
    assert [each.opponents.scripted for each in (one, two, last)] == [0.5, 0.1, 0.1]


def test_a_run_without_curriculum_has_no_stages() -> None:
    assert checked().stages == ()


def test_a_configuration_with_stages_is_saved_and_read_back_as_an_equal_one(tmp_path: Path) -> None:
    back = {"win_rate": {"opponent": "perfect", "below": 0.1}}
    config = built(stage(set={"options.dealt": 4}), {**LAST, "fall_back": back})
    load.save(config, tmp_path / "config.yaml")
    assert load.load(tmp_path / "config.yaml", options_of=options_of) == config


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([LAST, stage()], "curriculum[0].promote: last would never end"),
        ([stage()], "curriculum[0].promote: one is the last stage"),
        ([stage(), stage()], "curriculum[1].name: 'one' must be a name that no stage before it has"),
        ([stage(fall_back={"updates": 1}), LAST], "curriculum[0].fall_back: one is the first stage"),
        ([stage(), {**LAST, "fall_back": {}}], "curriculum[1].fall_back: has no condition"),
        ([stage(), {"nam": "last"}], "curriculum[1].nam: unknown key; did you mean curriculum[1].name?"),
        ([stage(promote={"update": 1}), LAST], "curriculum[0].promote.update: unknown key"),
        (
            [stage(promote={"win_rate": {"opponent": "random"}}), LAST],
            "curriculum[0].promote.win_rate.at_least: is mis",
        ),
        (
            [stage(promote={"win_rate": {"opponent": "random", "at_least": 80}}), LAST],
            "curriculum[0].promote.win_rate.at_least: must be a number, from 0 to 1, but is 80",
        ),
        (
            [stage(), {**LAST, "fall_back": {"win_rate": {"below": 1}}}],
            "curriculum[1].fall_back.win_rate.opponent: is m",
        ),
        (
            [stage(), {**LAST, "set": {"options.pil": 3}}],
            "curriculum[1].set.options.pil: unknown key; did you mean options.pile?",
        ),
        (
            [stage(), {**LAST, "set": {"options.pile": 3}}],
            "curriculum[1].set.options.pile: must be a whole number, at least 4, but is 3",
        ),
        ([stage(set={"learner.lrr": 1}), LAST], "curriculum[0].set.learner.lrr: unknown key; did you mean learner.lr?"),
        ([stage(set={"options": {"pile": 8}}), LAST], "curriculum[0].set.options: is a section; name the settings"),
        ([stage(set={"learner.vtrace": {}}), LAST], "curriculum[0].set.learner.vtrace: is a section"),
        ([stage(set={"seed.x": 1}), LAST], "curriculum[0].set.seed.x: cannot change from stage to stage"),
        ([stage(set={"policy.width": 8}), LAST], "curriculum[0].set.policy.width: cannot change from stage to stage"),
        ([stage(set={"learner.algorithm": "rnad"}), LAST], "curriculum[0].set.learner.algorithm: cannot change"),
        ([stage(set={"fleet.hosts.x": 1}), LAST], "curriculum[0].set.fleet.hosts.x: fleet.hosts is 0, not a section"),
    ],
)
def test_a_stage_that_cannot_be_is_refused_with_its_path(stages: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        built(*stages)
    assert message in str(refused.value)


def test_a_stage_cannot_wait_for_a_share_of_a_budget_without_limits() -> None:
    with pytest.raises(ConfigError, match=r"curriculum\[0\]\.promote\.budget: the run has no budget"):
        built(stage(promote={"budget": 0.5}), LAST, budget={"minutes": 0})
    assert built(stage(promote={"budget": 0.5}), LAST, budget={"minutes": 0, "updates": 4}).budget.updates == 4
