from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta

from ludus.config import load
from ludus.config.settings import LearnerConfig, RunConfig
from ludus.errors import ConfigError


class ChessOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    variant: Literal["classic", "fischer"] = "classic"
    clock_s: Annotated[float, Meta(gt=0.0)] = 60.0
    book: str | None = None


def options_of(game: str) -> type[msgspec.Struct]:
    if game != "chess":
        raise ConfigError(f"game: unknown game {game!r}")
    return ChessOptions


def built(data: dict[str, Any], *sets: str) -> RunConfig:
    return load.build(load.override({"game": "chess", **data}, sets), options_of=options_of)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"learner": {"ppo": {"clipp": 0.2}}}, "learner.ppo.clipp: unknown key; did you mean learner.ppo.clip?"),
        ({"lr": 0.1}, "lr: unknown key; did you mean learner.lr?"),
        ({"fleet": {"lr": 0.1}}, "fleet.lr: unknown key; did you mean learner.lr?"),
        (
            {"budget": {"zzz": 1}},
            "budget.zzz: unknown key; known here are minutes, decisions, updates",
        ),
        ({"learner": {"ppo": {"clip": -1}}}, "learner.ppo.clip: must be a number, above 0, but is -1"),
        ({"learner": {"gamma": 1.5}}, "learner.gamma: must be a number, from 0 to 1, but is 1.5"),
        ({"learner": {"epochs": 2.5}}, "learner.epochs: must be a whole number, from 1 to 1000000000, but is 2.5"),
        ({"learner": {"epochs": True}}, "learner.epochs: must be a whole number, from 1 to 1000000000, but is true"),
        ({"learner": {"lr": "high"}}, "learner.lr: must be a number, above 0, but is 'high'"),
        ({"learner": {"lr": float("inf")}}, "learner.lr: must be a finite number, but is inf"),
        ({"learner": None}, "learner: must be a section with keys, but is null"),
        (
            {"evaluation": {"matches": 401}},
            "evaluation.matches: must be a whole number, from 2 to 1000000000, even, but is 401",
        ),
        (
            {"evaluation": {"opponents": "random"}},
            "evaluation.opponents: must be a list [..] in which each is a text, but is 'random'",
        ),
        ({"mode": "seriel"}, "mode: must be one of overlapped, serial, but is 'seriel'; did you mean serial?"),
        ({"options": {"varient": "classic"}}, "options.varient: unknown key; did you mean options.variant?"),
        ({"options": {"clock_s": 0}}, "options.clock_s: must be a number, above 0, but is 0"),
        ({"options": {"book": 3}}, "options.book: must be a text or null, but is 3"),
        ({"game": "ches"}, "game: unknown game 'ches'"),
    ],
)
def test_what_does_not_fit_is_refused_with_path_and_what_is_allowed(data: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        built(data)
    assert str(caught.value) == message


def test_set_values_are_read_as_yaml_and_the_last_one_wins() -> None:
    config = built(
        {"learner": {"epochs": 2}},
        "learner.lr=5e-4",
        "learner.lr=1e-4",
        "evaluation.opponents=[random]",
        "options.book=",
        "options.variant=fischer",
    )
    assert config.learner == LearnerConfig(epochs=2, lr=1e-4)
    assert config.evaluation.opponents == ("random",)
    assert config.options == {"variant": "fischer", "clock_s": 60.0, "book": None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learner.lr", "must look like a.b=value"),
        ("=3", "must look like a.b=value"),
        ("learner..lr=3", "must look like a.b=value"),
        ("game.name=chess", "game is 'chess', not a section"),
        ("learner.lr=[1", "no valid YAML"),
    ],
)
def test_a_malformed_set_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        built({}, text)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ((), "FILE: learner.ppo.clip: must be a number, above 0, but is -1"),
        (("seed=3",), "FILE: learner.ppo.clip: must be a number, above 0, but is -1"),
        (("seed=3", "learner.ppo.clip=0"), "--set learner.ppo.clip=0: must be a number, above 0, but is 0"),
        (
            ("learner.ppo.clip=1", "fleet.lr=0.1", "seed=3"),
            "--set fleet.lr=0.1: unknown key; did you mean learner.lr?",
        ),
        (
            ("learner.ppo.clip=1", "fleet.matches=3", "n_envs=4"),
            "--set n_envs=4: is fleet.matches of all hosts together, and fleet.matches is set",
        ),
        (
            ("learner.ppo.clip=1", "learner={ppo: {clip: -2}}"),
            "--set learner={ppo: {clip: -2}}: learner.ppo.clip: must be a number",
        ),
    ],
)
def test_what_is_refused_names_the_file_or_the_set_it_comes_from(
    tmp_path: Path, sets: tuple[str, ...], message: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("game: chess\nlearner: {ppo: {clip: -1}}\n")
    with pytest.raises(ConfigError) as caught:
        load.load(path, sets, options_of=options_of)
    assert str(caught.value).startswith(message.replace("FILE", str(path)))


def test_sets_leave_the_data_they_are_given_alone() -> None:
    data = {"learner": {"lr": 1}}
    load.override(data, ["learner.lr=2"])
    assert data == {"learner": {"lr": 1}}


positive = st.floats(min_value=1e-9, max_value=1e9)


@settings(deadline=None, max_examples=50)
@given(
    lr=positive,
    clip=positive,
    device=st.text(),
    names=st.lists(st.text(), max_size=3),
    book=st.none() | st.text(),
    seed=st.integers(0, 2**62),
)
def test_a_saved_configuration_is_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory,
    lr: float,
    clip: float,
    device: str,
    names: list[str],
    book: str | None,
    seed: int,
) -> None:
    path = tmp_path_factory.mktemp("run") / "config.yaml"
    data = {"learner": {"lr": lr, "clip": clip}, "device": device, "seed": seed}
    config = built({**data, "opponents": {"scripted_names": names}, "options": {"book": book}})
    load.save(config, path)
    assert load.load(path, options_of=options_of) == config
    assert [file.name for file in path.parent.iterdir()] == ["config.yaml"]


def test_an_empty_file_is_all_defaults(tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text("# nothing\n")
    assert load.read(path) == {}


@pytest.mark.parametrize("text", ["- a\n- b\n", "just words\n"])
def test_a_file_that_is_no_section_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="must be a section with keys"):
        load.read(path)


def test_presets_are_found_by_name_by_game_and_by_path(tmp_path: Path) -> None:
    for game, preset in (("chess", "short"), ("chess", "long"), ("go", "short")):
        (tmp_path / game).mkdir(exist_ok=True)
        (tmp_path / game / f"{preset}.yaml").write_text("")
    presets = load.presets_in({"chess": tmp_path / "chess", "go": tmp_path / "go", "bare": tmp_path / "missing"})
    assert load.find("short", presets) == tmp_path / "chess" / "short.yaml"
    assert load.find("go/short", presets) == tmp_path / "go" / "short.yaml"
    assert load.find(str(tmp_path / "chess" / "long.yaml"), presets) == tmp_path / "chess" / "long.yaml"
    with pytest.raises(ConfigError, match=r"shrt: no such preset; did you mean short\?"):
        load.find("shrt", presets)
    with pytest.raises(ConfigError, match=r"mine\.yaml: no such file; name one that exists, or a preset"):
        load.find("mine.yaml", presets)


def test_a_preset_stands_before_its_variants(tmp_path: Path) -> None:
    for preset in ("nim-stages", "nim", "kuhn"):
        (tmp_path / f"{preset}.yaml").write_text("")
    assert [path.stem for path in load.preset_files(tmp_path)] == ["kuhn", "nim", "nim-stages"]
