"""Which leaves of a spec the net `entities` reads as entities, options and grids."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ludus.errors import ConfigError
from ludus.policies.nets.lists import lists_of
from ludus.spec import GameSpec, ObsSpec

LEAVES = {
    "turn": ("float32", (3,)),
    "name": ("uint16", (4,)),
    "power": ("fixed8", (4, 2)),
    "attacks": ("uint8", (4, 2)),
    "life": ("uint8", (2, 1)),
    "option_name": ("uint16", (5,)),
    "option_card": ("uint8", (5,)),
    "map": ("uint8", (6, 7, 2)),
}
LAYOUT: dict[str, object] = {
    "entities": {"cards": ["name", "power", "attacks"], "players": ["life"]},
    "options": ["option_name", "option_card"],
    "refers": {"attacks": "cards", "option_card": "cards"},
    "ids": {"option_name": "name"},
    "grids": ["map"],
}
SPEC = GameSpec("duel", 2, 5, ObsSpec.pack(LEAVES), 1, LAYOUT, {"name": np.ones((9, 3), np.float32)})


def test_the_layout_gives_each_leaf_its_role() -> None:
    lists = lists_of(SPEC)
    assert dict(lists.lengths) == {"cards": 4, "players": 2}
    assert {held: [leaf.name for leaf in own] for held, own in lists.entities.items()} == {
        "cards": ["name", "power"],
        "players": ["life"],
    }
    assert [leaf.name for leaf in lists.options] == ["option_name"]
    assert dict(lists.holders) == {"attacks": "cards", "option_card": ""}
    assert [leaf.name for leaf in lists.grids] == ["map"]
    assert [leaf.name for leaf in lists.state] == ["turn"]
    assert lists.has_options
    assert not lists.placed


def test_without_a_layout_boards_are_grids_and_the_rest_is_grouped_by_length() -> None:
    lists = lists_of(replace(SPEC, layout={}))
    assert [leaf.name for leaf in lists.grids] == ["map"]
    assert {held: [leaf.name for leaf in own] for held, own in lists.entities.items()} == {
        "4": ["name", "power", "attacks"],
        "2": ["life"],
    }
    assert [leaf.name for leaf in lists.state] == ["turn", "option_name", "option_card"]
    assert not lists.has_options
    assert lists.placed


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("entities", ["name"], r"layout\.entities is \['name'\], expected the leaves of each list"),
        ("entities", {"cards": ["name", "speed"]}, r"layout\.entities has \['name', 'speed'\]; leaves are turn, name"),
        ("entities", {"cards": [["name"]]}, r"layout\.entities has \[\['name'\]\]; leaves are"),
        ("entities", {"cards": ["name", "life"]}, r"has leaves of different lengths, or none, in 'cards'"),
        ("entities", {"cards": []}, r"has leaves of different lengths, or none, in 'cards'"),
        ("entities", {"cards": ["name", "map"]}, r"name a leaf twice: map"),
        ("entities", {"cards": ["attacks"], "players": ["life"]}, r"has no leaf in 'cards' that does not refer"),
        ("options", "option_name", r"layout\.options has option_name; leaves are"),
        ("options", ["turn"], r"layout\.options names 'turn' of shape \(3,\) for 5 actions"),
        (
            "refers",
            {"power": "cards"},
            r"layout\.refers names 'power', which is no integer leaf of entities",
        ),
        ("refers", {"turn": "cards"}, r"layout\.refers names 'turn', which is no integer leaf of entities"),
        ("refers", {"attacks": "lands"}, r"layout\.refers sends 'attacks' to 'lands'; lists are cards, players"),
        ("refers", {"attacks": 3}, r"layout\.refers is .*expected the name of a list for each leaf"),
        ("ids", {"option_name": "text"}, r"layout\.ids sends 'option_name' to the table 'text'; tables are name"),
        ("ids", {"power": "name"}, r"layout\.ids names 'power', which is no integer leaf"),
        ("ids", [1], r"layout\.ids is \[1\], expected the name of a table for each leaf"),
        ("grids", ["power"], r"layout\.grids names 'power' of shape \(4, 2\), expected three axes|name a leaf twice"),
        ("grids", [None], r"layout\.grids has \[None\]; leaves are"),
    ],
)
def test_a_layout_that_contradicts_itself_is_refused(entry: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError, match=f"the spec of duel: .*{message}"):
        lists_of(replace(SPEC, layout={**LAYOUT, entry: value}))


def test_a_table_that_is_no_matrix_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"layout\.ids needs rows and columns in the table 'name'"):
        lists_of(replace(SPEC, tables={"name": np.ones(9, np.float32)}))
