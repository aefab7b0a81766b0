"""Changes single values in a YAML text without changing the rest or its comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import yaml

from ludus.config import document
from ludus.errors import ConfigError

Value = int | float | bool | str


def put(text: str, values: Mapping[str, Value], where: str) -> str:
    """Return the text with `values` set, by their paths such as "fleet.hosts" or "seed". Missing ones are added.

    The text must be a configuration that `load` accepts; `where` names it in errors. If a value cannot be changed in
    place (because of an anchor, or `fleet: null`), the whole text is rewritten without comments.
    """
    target = document.parse(text, where) or {}
    changed = text
    for path, value in values.items():
        target = _with(target, path.split("."), value)
    try:
        for path, value in values.items():
            changed = _put_one(changed, path.split("."), value)
        right = document.parse(changed, where) == target
    except (yaml.YAMLError, ConfigError):
        right = False
    return changed if right else document.render(target)


def _with(data: object, keys: Sequence[str], value: Value) -> dict[str, object]:
    """Return a copy of plain data with a value set at these keys. Other data than a section is replaced by one."""
    section = dict(data) if isinstance(data, Mapping) else {}
    key, *inner = keys
    section[key] = _with(section.get(key), inner, value) if inner else value
    return section


def _put_one(text: str, keys: Sequence[str], value: Value) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    node, depth = root, 0
    while isinstance(node, yaml.MappingNode) and depth < len(keys):
        inner = _child(node, keys[depth])
        if inner is None:
            break
        node, depth = inner, depth + 1
    if depth == len(keys) and node is not None:
        return f"{text[: node.start_mark.index]}{_plain(value)}{text[node.end_mark.index :]}"
    if depth == 0:
        return f"{_ended(text)}{_nested(keys, value, 0)}\n"
    if not isinstance(node, yaml.MappingNode) or not node.value:
        return text
    first = node.value[0][0].start_mark
    if node.flow_style:
        return f"{text[: first.index]}{_flow(keys[depth:], value)}, {text[first.index :]}"
    lines = _nested(keys[depth:], value, first.column).lstrip()
    return f"{text[: first.index]}{lines}\n{' ' * first.column}{text[first.index :]}"


def _nested(keys: Sequence[str], value: Value, column: int) -> str:
    """Return the lines of a value with its sections, indented by `column`."""
    indents = (" " * (column + 2 * depth) for depth in range(len(keys)))
    lines = [f"{indent}{key}:" for indent, key in zip(indents, keys, strict=True)]
    return "\n".join(lines) + f" {_plain(value)}"


def _flow(keys: Sequence[str], value: Value) -> str:
    return ": {".join(keys) + f": {_plain(value)}" + "}" * (len(keys) - 1)


def _plain(value: Value) -> str:
    """Return a value as YAML has it, on one line."""
    return document.render({"value": value}).removeprefix("value: ").removesuffix("\n")


def _child(node: yaml.MappingNode, name: str) -> yaml.Node | None:
    child: yaml.Node | None = next((value for key, value in node.value if key.value == name), None)
    return child


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
