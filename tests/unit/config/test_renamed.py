from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ludus.config import load, renamed
from ludus.config.settings import RunConfig
from ludus.config.validation import check
from ludus.errors import ConfigError


class NoOptions(msgspec.Struct):
    pass


def loaded(tmp_path: Path, text: str, *sets: str) -> RunConfig:
    path = tmp_path / "mine.yaml"
    path.write_text(f"game: chess\n{text}\n")
    return load.load(path, sets, options_of=lambda game: NoOptions)


VALUES = {"policy.memory": "{kind: gru, burn_in: 3}"}


@pytest.mark.parametrize("old", renamed.RENAMED)
def test_an_old_name_in_a_file_or_set_is_the_new_one_and_is_noted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, old: str
) -> None:
    section, _, key = old.rpartition(".")
    new = renamed.RENAMED[old]
    value = VALUES.get(old, "0.5")
    expected = loaded(tmp_path, "", f"{new}={value}")
    assert not caplog.records
    for text, sets in ((f"{section}: {{{key}: {value}}}", ()), ("", (f"{old}={value}",))):
        assert loaded(tmp_path, text, *sets) == expected != RunConfig(game="chess")
        assert caplog.messages == [f"{old} is a deprecated name; use {new}"]
        caplog.clear()


def test_a_set_wins_over_the_file_whichever_names_they_use(tmp_path: Path) -> None:
    for text in ("learner: {clip: 0.3}", "learner: {ppo: {clip: 0.3}}"):
        for sets in ("learner.clip=0.1", "learner.ppo.clip=0.1"):
            assert loaded(tmp_path, text, sets).learner.ppo.clip == 0.1


def test_other_settings_of_a_section_stay_when_one_moves(tmp_path: Path) -> None:
    learner = loaded(tmp_path, "learner: {clip: 0.3, lr: 0.5, ppo: {target_kl: 0.25}}").learner
    assert (learner.ppo.clip, learner.ppo.target_kl, learner.lr) == (0.3, 0.25, 0.5)


def test_a_setting_of_a_renamed_section_may_be_set_by_its_old_path(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for text in ("policy: {memory: {kind: lstm}}", "policy: {recurrent: {kind: lstm}}"):
        caplog.clear()
        policy = loaded(tmp_path, text, "policy.memory.width=8").policy
        assert (policy.recurrent.kind, policy.recurrent.width) == ("lstm", 8)
        assert caplog.messages == ["policy.memory is a deprecated name; use policy.recurrent"]
    with pytest.raises(ConfigError, match=r"^--set policy\.memory\.width=0: must be"):
        loaded(tmp_path, "", "policy.memory.width=0")


def test_a_setting_under_both_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"learner\.clip: unknown key; did you mean learner\.ppo\.clip\?"):
        loaded(tmp_path, "learner: {clip: 0.3, ppo: {clip: 0.2}}")


def test_a_wrong_value_under_an_old_name_is_refused_where_it_stands(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--set learner\.clip=0: must be a number, above 0, but is 0$"):
        loaded(tmp_path, "", "learner.clip=0")
    with pytest.raises(ConfigError, match=r"mine\.yaml: learner\.ppo\.clip: must be a number, above 0, but is 0$"):
        loaded(tmp_path, "learner: {clip: 0}")


def test_a_stage_may_use_an_old_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stages = "curriculum: [{name: a, set: {learner.clip: 0.1}, promote: {updates: 1}}, {name: b}]"
    config = loaded(tmp_path, stages)
    run = load.checked(msgspec.to_builtins(config), options_of=lambda game: NoOptions)
    first, second = (stage.config for stage in run.stages)
    assert (first.learner.ppo.clip, second.learner.ppo.clip) == (0.1, RunConfig(game="chess").learner.ppo.clip)
    assert "learner.clip is a deprecated name; use learner.ppo.clip" in caplog.messages


@pytest.mark.parametrize(
    "data", [{"learner": 3}, {"learner": {"ppo": 3, "clip": 0.1}}, {"curriculum": [3, {"set": 4}]}]
)
def test_malformed_sections_are_left_for_the_check_to_refuse(data: dict[str, object]) -> None:
    assert renamed.old_names(data, ()) == (["learner.clip"] if "clip" in str(data) else [])
    with pytest.raises(ConfigError):
        check(renamed.moved(data), RunConfig)


def test_every_new_name_is_a_setting() -> None:
    for new in renamed.RENAMED.values():
        setting: object = RunConfig(game="chess")
        for key in new.split("."):
            setting = getattr(setting, key)
