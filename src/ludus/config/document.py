"""Reads and writes YAML for configurations, with stricter rules than PyYAML.

Differs from PyYAML's default in these ways: `1e-3` is a number, only `true` and `false` are booleans (`no` and `off`
are text), and a date or `1:30` is text. Refused are a key given twice, a key that is a list, a tag (`!!set`) and a text
beyond the limits in `bounds`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from ludus.config import bounds
from ludus.errors import ConfigError


def decode(content: bytes, where: str) -> str:
    """Decode the content of a file as UTF-8, with or without a byte order mark.

    Raises ConfigError if it is longer than `bounds.MAX_BYTES` or not UTF-8. `where` names the file in the error.
    """
    if len(content) > bounds.MAX_BYTES:
        raise ConfigError(f"{where}: is larger than {bounds.MAX_BYTES // 1024} KiB; is it a configuration?")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte, line = content[error.start], content.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{where}: is not UTF-8 text (byte 0x{byte:02x} in line {line}); save it with the encoding UTF-8"
        ) from error


def parse(text: str, where: str) -> Any:  # Any: plain data, not yet checked
    """Return the plain data in a YAML text. Raises ConfigError if it is not valid; `where` names the text in the error.

    Takes at most a second, even for hostile texts.
    """
    if len(text) > bounds.MAX_BYTES:
        raise ConfigError(f"{where}: is longer than {bounds.MAX_BYTES:,} characters; is it a configuration?")
    try:
        events = tuple(bounds.within(yaml.parse(text, Loader=yaml.SafeLoader)))
        return _Builder(events).get_single_data()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        character = ascii(chr(error.character)) if isinstance(error.character, int) else repr(error.character)
        raise ConfigError(f"{where}: no valid YAML: character {character} is not allowed (line {line})") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{where}: no valid YAML: {_one_line(error)}") from error


def render(data: Mapping[str, object]) -> str:
    """Return data as YAML, which `parse` reads back unchanged. The order of keys is kept."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False)
    return text


def section(data: dict[str, Any], keys: Sequence[str], where: str) -> dict[str, Any]:  # Any: plain data
    """Return the nested section of `data` at these keys. Missing sections are created.

    Raises ConfigError if a key holds a value that is not a section. `where` begins the message.
    """
    if len(keys) > bounds.MAX_DEPTH:
        raise ConfigError(f"{where}: has {len(keys):,} keys, one in the other; at most {bounds.MAX_DEPTH} are allowed")
    values = data
    for depth, key in enumerate(keys, 1):
        values = values.setdefault(key, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{where}: {'.'.join(keys[:depth])} is {excerpt(repr(values))}, not a section with keys")
    return values


def value_at(data: Mapping[str, Any], path: str) -> Any:  # Any: plain data
    """Return the value of plain data at a path such as "fleet.hosts", or None if it is not set."""
    value: Any = data
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def excerpt(text: str) -> str:
    """Return a text for quoting in an error: at most 100 characters, control characters and line ends escaped."""
    cut = text if len(text) <= 100 else text[:97] + "..."
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in cut)


def _resolvers() -> dict[str | None, list[tuple[str, re.Pattern[str]]]]:
    """Return the tags that a plain scalar may have, each with its pattern, by the first character of the scalar."""
    digits = "0123456789"
    patterns = (
        ("null", "~n", r"~|null|"),
        ("bool", "tf", r"true|false"),
        ("int", "+-" + digits, r"[-+]?[0-9][0-9_]*"),
        (
            "float",
            "+-." + digits,
            r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan",
        ),
    )
    by_first: dict[str | None, list[tuple[str, re.Pattern[str]]]] = {}
    for tag, firsts, pattern in patterns:
        entry = (f"tag:yaml.org,2002:{tag}", re.compile(rf"^(?:{pattern})$"))
        for first in ("", *firsts) if tag == "null" else firsts:
            by_first.setdefault(first, []).append(entry)
    return by_first


class _Builder(yaml.composer.Composer, yaml.constructor.SafeConstructor, yaml.resolver.Resolver):
    """Builds plain data from the parser events of one document."""

    yaml_implicit_resolvers = _resolvers()

    def __init__(self, events: Sequence[yaml.Event]) -> None:
        yaml.composer.Composer.__init__(self)
        yaml.constructor.SafeConstructor.__init__(self)
        yaml.resolver.Resolver.__init__(self)
        self._events = deque(events)

    def check_event(self, *choices: type[yaml.Event]) -> bool:
        return bool(self._events) and (not choices or isinstance(self._events[0], choices))

    def peek_event(self) -> yaml.Event:
        return self._events[0]

    def get_event(self) -> yaml.Event:
        return self._events.popleft()

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(None, None, "a key is a list or a section, not a text", key.start_mark)
            if key.value in keys:
                raise yaml.MarkedYAMLError(None, None, f"{key.value!r} is given twice", key.start_mark)
            keys.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_integer(self, node: yaml.ScalarNode) -> int:
        if len(node.value) > bounds.MAX_DIGITS:
            problem = f"a whole number has {len(node.value):,} digits; at most {bounds.MAX_DIGITS} are read"
            raise yaml.MarkedYAMLError(None, None, problem, node.start_mark)
        return int(node.value.replace("_", ""))  # 010 is ten, not eight


_Builder.add_constructor(  # type: ignore[type-var]  # the stubs know only whole loaders, with a scanner and a parser
    "tag:yaml.org,2002:int", _Builder.construct_integer
)


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers = _resolvers()

    def ignore_aliases(self, data: object) -> bool:
        return True


def _one_line(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem:
        mark = error.problem_mark
        return error.problem + (f" (line {mark.line + 1}, column {mark.column + 1})" if mark else "")
    return " ".join(str(error).split())
