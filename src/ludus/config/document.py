"""YAML as configurations use it: what is written is what is meant.

Differs from PyYAML's default in four ways: `1e-3` is a number, only `true` and `false` are booleans (`no` and `off` are
text), a date or `1:30` is text, and a key given twice is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from ludus.errors import ConfigError


def parse(text: str, where: str) -> Any:  # Any: whatever the text says; `check` gives it a type
    """The plain data in a YAML text. `where` names the text in the error."""
    try:
        return yaml.load(text, Loader=_Loader)  # a SafeLoader: plain data only
    except yaml.YAMLError as error:
        raise ConfigError(f"{where}: no valid YAML: {_one_line(error)}") from error


def render(data: Mapping[str, object]) -> str:
    """YAML that `parse` reads back as the same data, keys in the order given."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False)
    return text


def section(data: dict[str, Any], keys: Sequence[str], where: str) -> dict[str, Any]:  # Any: plain data
    """What stands in `data` below these keys, one in the other; made where it is missing. `where` names in the error
    who asks for it."""
    found = data
    for depth, key in enumerate(keys, 1):
        found = found.setdefault(key, {})
        if not isinstance(found, dict):
            raise ConfigError(f"{where}: {'.'.join(keys[:depth])} is {found!r}, not a section with keys")
    return found


def _resolvers() -> dict[str | None, list[tuple[str, re.Pattern[str]]]]:
    """For each first character of a plain scalar: the tags it may have, and the pattern that decides."""
    digits = "0123456789"
    patterns = (
        ("null", "~n", r"~|null|"),
        ("bool", "tf", r"true|false"),
        ("int", "+-" + digits, r"[-+]?[0-9][0-9_]*"),
        (
            "float",
            "+-." + digits,
            r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan",
        ),
    )
    by_first: dict[str | None, list[tuple[str, re.Pattern[str]]]] = {}
    for tag, firsts, pattern in patterns:
        entry = (f"tag:yaml.org,2002:{tag}", re.compile(rf"^(?:{pattern})$"))
        for first in ("", *firsts) if tag == "null" else firsts:
            by_first.setdefault(first, []).append(entry)
    return by_first


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = _resolvers()

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(None, None, f"{key.value!r} is given twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_integer(self, node: yaml.ScalarNode) -> int:
        return int(node.value.replace("_", ""))  # 010 is ten, not eight


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_integer)


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers = _resolvers()

    def ignore_aliases(self, data: object) -> bool:
        return True


def _one_line(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem:
        mark = error.problem_mark
        return error.problem + (f" (line {mark.line + 1}, column {mark.column + 1})" if mark else "")
    return " ".join(str(error).split())
