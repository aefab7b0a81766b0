"""Names in the code keep to the glossary: one name for one thing, nouns for what they hold (scripts/words.py)."""

from __future__ import annotations

from pathlib import Path

from scripts import words

CEILING = 0  # participles that are still there; lower it with every one that gets a noun

# Defined by several modules on purpose: each module has its own variant of the same thing.
SAME_THING = frozenset({"RandomPolicy"})


def test_names_say_what_a_thing_is_and_not_what_happened_to_it() -> None:
    places = [(path, line, name) for path in words.SOURCE.rglob("*.py") for line, name in words.participles(path)]
    assert len(places) <= CEILING, "run: python scripts/words.py"


def test_a_class_name_means_one_thing() -> None:
    assert words.shared_classes().keys() == SAME_THING


def test_a_module_name_means_one_thing() -> None:
    assert words.shared_modules() == {}


def test_the_lists_find_what_they_look_for(tmp_path: Path) -> None:
    for package in ("a", "b"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "memory.py").write_text(
            "class Plan:\n    asked: int\n\ndef read(path, *, found):\n    _said = path\n    self.chosen = 1\n"
        )
    path = tmp_path / "a" / "memory.py"
    assert sorted(words.participles(path)) == [(2, "asked"), (4, "found"), (5, "_said"), (6, "chosen")]
    assert words.shared_classes(tmp_path) == {"Plan": [path, tmp_path / "b" / "memory.py"]}
    assert words.shared_modules(tmp_path).keys() == {"memory"}
