from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.config import document
from ludus.errors import ConfigError

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
data = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(min_size=1, max_size=20), inner), max_leaves=10
)


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.text(min_size=1, max_size=20), data))
def test_what_is_rendered_is_read_back_equal(original: dict[str, object]) -> None:
    assert document.parse(document.render(original), "here") == original


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3),
        ("1_000", 1000),
        ("010", 10),
        ("true", True),
        ("no", "no"),
        ("on", "on"),
        ("2024-01-01", "2024-01-01"),
        ("1:30", "1:30"),
        ("", None),
        ("null", None),
        ("[random, heuristic]", ["random", "heuristic"]),
        (".5", 0.5),
        ("gen1randombattle", "gen1randombattle"),
        ("1e3x", "1e3x"),
    ],
)
def test_scalars_mean_what_they_look_like(text: str, value: object) -> None:
    seen = document.parse(text, "here")
    assert seen == value
    assert type(seen) is type(value)


def test_a_key_given_twice_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigError, match=r"run.yaml: no valid YAML: 'lr' is given twice \(line 3, column 1\)"):
        document.parse("lr: 1\nclip: 2\nlr: 3\n", "run.yaml")


def test_broken_yaml_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError) as caught:
        document.parse("a: [1, 2", "run.yaml")
    assert str(caught.value).startswith("run.yaml: no valid YAML")
    assert "\n" not in str(caught.value)


def test_tags_that_would_build_objects_are_refused() -> None:
    with pytest.raises(ConfigError, match="no valid YAML"):
        document.parse("!!python/object/apply:os.getcwd []", "run.yaml")
