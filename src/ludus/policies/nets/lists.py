"""Reads from a game's spec which leaves list entities, which describe the options of a decision, and which are grids.

The game says so in the layout of its spec, with optional entries (docs/host-protocol.md):

entities  {"cards": ["card", "card_numbers"], ...}  lists of entities. A list's leaves have its length as first axis
options   ["option_kind", "option_card"]            leaves [A, ...]: entry i describes action i
refers    {"option_card": "cards", ...}             integer leaves of positions in a list: 0: none, i: entity i - 1
ids       {"option_name": "name"}                   integer leaves of ids, and the table that they index into
grids     ["territory"]                             leaves [height, width, channels]

All other leaves describe the state as a whole. A leaf that has the name of a table holds ids of it without being named
in `ids`. A layout with neither `entities` nor `grids` says nothing about the leaves that are not options: those with
three axes then count as grids, and the others are grouped by their length, as the net `transformer` does. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ludus import limits
from ludus.errors import ConfigError
from ludus.spec import GameSpec, Leaf


@dataclass(frozen=True, slots=True)
class Lists:
    """The leaves of a spec by their role."""

    lengths: Mapping[str, int]  # of each list of entities
    entities: Mapping[str, tuple[Leaf, ...]]  # by list; without leaves that refer to entities
    options: tuple[Leaf, ...]  # likewise
    refers: Mapping[str, str] = field(default_factory=dict)  # the list that a leaf of positions refers to
    holders: Mapping[str, str] = field(default_factory=dict)  # the list that such a leaf belongs to; "" for the options
    grids: tuple[Leaf, ...] = ()
    state: tuple[Leaf, ...] = ()
    placed: bool = False  # True if an entity's position in its list has a meaning, as on a board

    @property
    def has_options(self) -> bool:
        """True if actions are described by leaves."""
        return bool(self.options) or "" in self.holders.values()


def lists_of(spec: GameSpec) -> Lists:
    """Return the roles of the leaves of a spec. Raises ConfigError if its layout contradicts itself."""
    leaves = {leaf.name: leaf for leaf in spec.obs.leaves}
    options = _names(spec, "options", spec.layout.get("options", []), leaves)
    says_nothing = "entities" not in spec.layout and "grids" not in spec.layout
    boards = [name for name, leaf in leaves.items() if len(leaf.shape) == 3 and name not in options]
    grids = tuple(boards) if says_nothing else _names(spec, "grids", spec.layout.get("grids", []), leaves)
    members = _members(spec, leaves, [*grids, *options])
    _check_shapes(spec, leaves, grids, options)
    refers = _texts(spec, "refers", "a list")
    holders = dict.fromkeys(options, "") | {name: group for group, names in members.items() for name in names}
    for name, target in refers.items():
        if name not in holders or leaves[name].is_real:
            raise _wrong(spec, "refers", f"names {name!r}, which is no integer leaf of entities or options")
        if target not in members:
            raise _wrong(spec, "refers", f"sends {name!r} to {target!r}; lists are {', '.join(members) or 'none'}")
    _check_ids(spec, leaves, refers)
    for group, names in members.items():
        if all(name in refers for name in names):
            raise _wrong(spec, "entities", f"has no leaf in {group!r} that does not refer to other entities")
    return Lists(
        lengths={group: leaves[names[0]].shape[0] for group, names in members.items()},
        entities={
            group: tuple(leaves[name] for name in names if name not in refers) for group, names in members.items()
        },
        options=tuple(leaves[name] for name in options if name not in refers),
        refers=refers,
        holders={name: holders[name] for name in refers},
        grids=tuple(leaves[name] for name in grids),
        state=tuple(leaf for leaf in spec.obs.leaves if leaf.name not in holders and leaf.name not in grids),
        placed="entities" not in spec.layout,
    )


def _check_ids(spec: GameSpec, leaves: Mapping[str, Leaf], refers: Mapping[str, str]) -> None:
    for name, table in _texts(spec, "ids", "a table").items():
        if name not in leaves or leaves[name].is_real or name in refers:
            raise _wrong(spec, "ids", f"names {name!r}, which is no integer leaf, or refers to entities")
        if table not in spec.tables:
            tables = ", ".join(spec.tables) or "none"
            raise _wrong(spec, "ids", f"sends {name!r} to the table {table!r}; tables are {tables}")
        if spec.tables[table].ndim != 2 or not spec.tables[table].size:
            raise _wrong(spec, "ids", f"needs rows and columns in the table {table!r}")


def _check_shapes(spec: GameSpec, leaves: Mapping[str, Leaf], grids: Sequence[str], options: Sequence[str]) -> None:
    for name in grids:
        if len(leaves[name].shape) != 3 or 0 in leaves[name].shape:
            raise _wrong(spec, "grids", f"names {name!r} of shape {leaves[name].shape}, expected three axes")
    for name in options:
        if leaves[name].shape[:1] != (spec.actions,):
            raise _wrong(spec, "options", f"names {name!r} of shape {leaves[name].shape} for {spec.actions} actions")


def _members(spec: GameSpec, leaves: Mapping[str, Leaf], reserved: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the names of the leaves of each list of entities. `reserved` are the grids and options."""
    layout = spec.layout.get("entities")
    if layout is None:
        _refuse_twice(spec, reserved)
        return _by_length([leaf for leaf in leaves.values() if leaf.name not in reserved])
    if not isinstance(layout, dict):
        raise _wrong(spec, "entities", f"is {limits.clipped(layout)}, expected the leaves of each list")
    members = {str(group): _names(spec, "entities", names, leaves) for group, names in layout.items()}
    _refuse_twice(spec, [*reserved, *(name for group in members.values() for name in group)])
    for group, own in members.items():
        lengths = {leaves[name].shape[:1] for name in own}
        if len(lengths) != 1 or lengths <= {(), (0,)}:
            raise _wrong(spec, "entities", f"has leaves of different lengths, or none, in {group!r}")
    return members


def _by_length(leaves: list[Leaf]) -> dict[str, tuple[str, ...]]:
    """Group leaves with two or more axes by their length, with the integer leaves of the same length."""
    lengths = dict.fromkeys(leaf.shape[0] for leaf in leaves if len(leaf.shape) > 1)
    of: dict[int, list[str]] = {length: [] for length in lengths}
    for leaf in leaves:
        if len(leaf.shape) > 1 or (len(leaf.shape) == 1 and not leaf.is_real and leaf.shape[0] in of):
            of[leaf.shape[0]].append(leaf.name)
    return {str(length): tuple(names) for length, names in of.items()}


def _names(spec: GameSpec, entry: str, names: object, leaves: Mapping[str, Leaf]) -> tuple[str, ...]:
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name in leaves for name in names):
        raise _wrong(spec, entry, f"has {limits.clipped(names)}; leaves are {', '.join(leaves)}")
    return tuple(names)


def _texts(spec: GameSpec, entry: str, meaning: str) -> dict[str, str]:
    texts = spec.layout.get(entry, {})
    if not isinstance(texts, dict) or not all(isinstance(text, str) for pair in texts.items() for text in pair):
        raise _wrong(spec, entry, f"is {limits.clipped(texts)}, expected the name of {meaning} for each leaf")
    return dict(texts)


def _refuse_twice(spec: GameSpec, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise _wrong(spec, "entities", f"and options and grids name a leaf twice: {', '.join(twice)}")


def _wrong(spec: GameSpec, entry: str, what: str) -> ConfigError:
    return ConfigError(f"the spec of {spec.name}: layout.{entry} {what}")
