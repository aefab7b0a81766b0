"""Changes single values in a YAML text without changing the rest or its comments."""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from ludus.config import document
from ludus.errors import ConfigError


def put(text: str, section: str, values: Mapping[str, int], where: str) -> str:
    """Return the text with `values` set in a top-level section. Missing values are added.

    The text must be a configuration that `load` accepts; `where` names it in errors. If a value cannot be changed in
    place (because of an anchor, or `fleet: null`), the whole text is rewritten without comments.
    """
    data = document.parse(text, where) or {}
    target = {**data, section: {**(data.get(section) or {}), **values}}
    changed = text
    try:
        for key, value in values.items():
            changed = _put_one(changed, section, key, value)
        right = document.parse(changed, where) == target
    except (yaml.YAMLError, ConfigError):
        right = False
    return changed if right else document.render(target)


def _put_one(text: str, section: str, key: str, value: int) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return f"{_ended(text)}{section}:\n  {key}: {value}\n"
    inner = _child(root, section)
    if inner is None:
        return f"{_ended(text)}{section}:\n  {key}: {value}\n"
    if not isinstance(inner, yaml.MappingNode) or not inner.value:
        return text
    old = _child(inner, key)
    if old is not None:
        return f"{text[: old.start_mark.index]}{value}{text[old.end_mark.index :]}"
    first = inner.value[0][0].start_mark
    joint = ", " if inner.flow_style else "\n" + " " * first.column
    return f"{text[: first.index]}{key}: {value}{joint}{text[first.index :]}"


def _child(node: yaml.MappingNode, name: str) -> yaml.Node | None:
    child: yaml.Node | None = next((value for key, value in node.value if key.value == name), None)
    return child


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
