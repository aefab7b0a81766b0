from __future__ import annotations

import pytest

from ludus.config import document, edit

BEST = {"hosts": 2, "matches": 64}
VALUES = {f"fleet.{name}": value for name, value in BEST.items()}


def put(text: str) -> str:
    return edit.put(text, VALUES, "run.yaml")


def test_values_are_changed_and_all_else_stays_as_it_stands() -> None:
    before = "# mine\ngame: toy\nfleet:\n    matches: 8  # per host\n    hosts: 1\nseed: 7  # lucky\n"
    assert put(before) == "# mine\ngame: toy\nfleet:\n    matches: 64  # per host\n    hosts: 2\nseed: 7  # lucky\n"


def test_a_value_that_is_missing_is_added_to_its_section() -> None:
    assert put("fleet:\n  # few\n  hosts: 1\n\nseed: 7\n") == "fleet:\n  # few\n  matches: 64\n  hosts: 2\n\nseed: 7\n"


def test_a_section_that_is_missing_is_added_at_the_end() -> None:
    assert put("game: toy # nim") == "game: toy # nim\nfleet:\n  matches: 64\n  hosts: 2\n"
    assert document.parse(put(""), "run.yaml") == {"fleet": BEST}
    assert document.parse(put("# nothing yet\n"), "run.yaml") == {"fleet": BEST}


def test_a_section_on_one_line_stays_on_it() -> None:
    assert put("fleet: {backoff_s: 2, matches: 8}\n") == "fleet: {hosts: 2, backoff_s: 2, matches: 64}\n"


@pytest.mark.parametrize(
    "text",
    [
        "fleet:\nseed: 7\n",
        "fleet: {}\nseed: 7\n",
        "fleet: null\nseed: 7\n",
        "{game: toy}\n",
        "other: &a\n  hosts: 1\nfleet: *a\n",
        "game: toy\n...\n",
    ],
)
def test_what_cannot_be_changed_in_place_still_means_the_same(text: str) -> None:
    before = document.parse(text, "run.yaml")
    after = document.parse(put(text), "run.yaml")
    assert after == {**before, "fleet": {**(before.get("fleet") or {}), **BEST}}


def test_settings_without_a_section_and_in_nested_sections_are_changed() -> None:
    before = "device: auto  # mine\nlearner:\n  compute: {graphs: false}  # slow\n"
    values: dict[str, edit.Value] = {"device": "cuda:0", "learner.compute.graphs": True, "policy.recurrent.kind": "gru"}
    assert edit.put(before, values, "run.yaml") == (
        "device: cuda:0  # mine\nlearner:\n  compute: {graphs: true}  # slow\npolicy:\n  recurrent:\n    kind: gru\n"
    )


def test_a_nested_section_that_is_missing_is_added_to_its_section() -> None:
    assert edit.put("policy:\n  width: 8\n", {"policy.recurrent.width": 4}, "run.yaml") == (
        "policy:\n  recurrent:\n    width: 4\n  width: 8\n"
    )
    assert edit.put("policy: {width: 8}\n", {"policy.recurrent.width": 4}, "run.yaml") == (
        "policy: {recurrent: {width: 4}, width: 8}\n"
    )


@pytest.mark.parametrize("value", ["no: yes", "1", "true", "# a", "", "a" * 300, "two\nlines"])
def test_a_text_is_read_back_as_it_is(value: str) -> None:
    assert document.parse(edit.put("device: auto\n", {"device": value}, "run.yaml"), "") == {"device": value}
