"""Converts plain data into frozen structs. Errors name the path, the value and the allowed values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from ludus.config.document import excerpt
from ludus.errors import ConfigError
from ludus.suggestions import closest, did_you_mean

S = TypeVar("S", bound=msgspec.Struct)
INT64 = range(-(2**63), 2**63)
"""The whole numbers that arrays, tensors and host protocols can hold."""


def check(data: object, struct: type[S], path: str = "") -> S:
    """Return `data` as an instance of `struct`. Raises ConfigError. `path` is the path of the data, for the error."""
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    _check_struct(data, info, info, path)
    try:
        return msgspec.convert(data, struct)
    except msgspec.ValidationError as error:  # a rule of the whole struct (__post_init__)
        raise ConfigError(f"{path + ': ' if path else ''}{_plain(error)}") from error


def _check_struct(data: object, info: inspect.StructType, root: inspect.StructType, path: str) -> None:
    if not isinstance(data, Mapping):
        raise ConfigError(f"{path or 'the configuration'}: must be a section with keys, but is {_quoted(data)}")
    fields = {field.encode_name: field for field in info.fields}
    for key in data:
        if key not in fields:
            raise ConfigError(_unknown(str(key), list(fields), root, path))
    for name, field in fields.items():
        place = f"{path}.{name}" if path else name
        if name not in data:
            if field.required:
                raise ConfigError(f"{place}: is missing; it must be {describe(field.type)}")
        elif isinstance(field.type, inspect.StructType):
            _check_struct(data[name], field.type, root, place)
        elif data[name] is not None and (optional := _optional_struct(field.type)) is not None:
            _check_struct(data[name], optional, root, place)
        elif isinstance(data[name], list | tuple) and (item := _item_struct(field.type)) is not None:
            for index, each in enumerate(data[name]):
                _check_struct(each, item, root, f"{place}[{index}]")
        else:
            _check_value(data[name], info.cls, field, place)


def _optional_struct(kind: inspect.Type) -> inspect.StructType | None:
    if not isinstance(kind, inspect.UnionType):
        return None
    return next((inner for inner in kind.types if isinstance(inner, inspect.StructType)), None)


def _item_struct(kind: inspect.Type) -> inspect.StructType | None:
    listed = isinstance(kind, inspect.VarTupleType | inspect.ListType) and kind.item_type
    return listed if isinstance(listed, inspect.StructType) else None


def _check_value(value: Any, owner: type, field: inspect.Field, path: str) -> None:  # Any: not yet checked
    """Raise ConfigError if a value does not have the type or range of its field."""
    for inner, number in _numbers(value):
        if isinstance(number, float) and not math.isfinite(number):
            raise ConfigError(f"{path}{inner}: must be a finite number, but is {number}")
        if isinstance(number, int) and number not in INT64:
            raise ConfigError(f"{path}{inner}: must be a number of at most 64 bits, but is {_quoted(number)}")
    python_type = next(f.type for f in msgspec.structs.fields(owner) if f.encode_name == field.encode_name)
    try:
        msgspec.convert(value, python_type)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{path}: must be {describe(field.type)}, but is {_quoted(value)}{_nearest(value, field)}"
        ) from error


def _numbers(value: object, inner: str = "") -> Iterator[tuple[str, int | float]]:
    if isinstance(value, int | float):
        yield inner, value
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _numbers(item, f"{inner}[{index}]")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _numbers(item, f"{inner}.{excerpt(str(key))}")


def describe(kind: inspect.Type) -> str:
    """Describe the values that a type allows: `a whole number, at least 1`."""
    match kind:
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "a whole number" + _range(kind)
        case inspect.FloatType():
            return "a number" + _range(kind)
        case inspect.StrType():
            return "a text"
        case inspect.NoneType():
            return "null"
        case inspect.LiteralType():
            return "one of " + ", ".join(str(value) for value in kind.values)
        case inspect.UnionType():
            return " or ".join(describe(inner) for inner in kind.types)
        case inspect.VarTupleType() | inspect.ListType():
            return f"a list [..] in which each is {describe(kind.item_type)}"
        case inspect.TupleType():
            return f"a list of {len(kind.item_types)}: " + ", ".join(describe(inner) for inner in kind.item_types)
        case inspect.DictType() | inspect.StructType():
            return "a section with keys"
        case _:
            return "a value"


def _range(kind: inspect.IntType | inspect.FloatType) -> str:
    bounds = []
    if kind.ge is not None and kind.le is not None:
        bounds.append(f"from {_bound(kind.ge)} to {_bound(kind.le)}")
    else:
        for word, bound in (("at least", kind.ge), ("at most", kind.le)):
            if bound is not None:
                bounds.append(f"{word} {_bound(bound)}")
    for word, bound in (("above", kind.gt), ("below", kind.lt)):
        if bound is not None:
            bounds.append(f"{word} {_bound(bound)}")
    if kind.multiple_of is not None:
        bounds.append("even" if kind.multiple_of == 2 else f"a multiple of {kind.multiple_of:g}")
    return "".join(f", {bound}" for bound in bounds)


def _bound(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def _unknown(key: str, siblings: list[str], root: inspect.StructType, path: str) -> str:
    place = f"{path}.{excerpt(key)}" if path else excerpt(key)
    prefix = f"{path}." if path else ""
    elsewhere = [
        paths for paths in _paths(root) if paths.rpartition(".")[2] == key
    ]  # the key exists in another section
    near = closest(key, siblings)
    paths = elsewhere if near is None else [prefix + near]
    hint = f"did you mean {paths[0]}?" if paths else f"known here are {', '.join(siblings)}"
    return f"{place}: unknown key; {hint}"


def _paths(info: inspect.StructType, path: str = "") -> Iterator[str]:
    for field in info.fields:
        place = f"{path}.{field.encode_name}" if path else field.encode_name
        yield place
        if isinstance(field.type, inspect.StructType):
            yield from _paths(field.type, place)


def _nearest(value: object, field: inspect.Field) -> str:
    if isinstance(value, str) and isinstance(field.type, inspect.LiteralType):
        hint = did_you_mean(value, (str(choice) for choice in field.type.values), otherwise="")
        return f"; {hint}" if hint else ""
    return ""


def _quoted(value: object) -> str:
    return excerpt(
        json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    )  # as YAML writes them


def _plain(error: msgspec.ValidationError) -> str:
    return re.sub(r" - at `\$\.?([^`]*)`", r" (\1)", str(error))
