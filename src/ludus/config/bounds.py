"""Limits on the size of a YAML text, checked on the parser's events before any value is built. Pure.

PyYAML builds nested values by recursion, expands aliases without a limit and constructs any type that a tag names. A
text within these limits is read within a second. A complete configuration has about 4,000 characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import yaml

MAX_BYTES = 64 * 1024
MAX_NODES = 5_000  # values and keys, including those that aliases repeat
MAX_DEPTH = 50  # levels of nested lists and sections
MAX_DIGITS = 100  # of a whole number; settings have at most 64 bits


def within(events: Iterable[yaml.Event]) -> Iterator[yaml.Event]:
    """Yield the events of one document. Raises MarkedYAMLError, with the line, at the first event beyond a bound."""
    nodes = 0
    sizes: dict[str, int] = {}  # anchor -> nodes in its value
    open_nodes: list[tuple[str | None, int]] = []  # anchor of a list or section, nodes before it
    for event in _single_document(events):
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor is not None:
                sizes[anchor] = nodes - before
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                raise _error(f"alias *{event.anchor} stands before or within the value it names", event)
            nodes += sizes[event.anchor]
        elif isinstance(event, yaml.NodeEvent):
            _refuse_tag(event)
            nodes += 1
            if isinstance(event, yaml.CollectionStartEvent):
                open_nodes.append((event.anchor, nodes - 1))
                sizes.pop(event.anchor or "", None)
            elif event.anchor is not None:
                sizes[event.anchor] = 1
        if len(open_nodes) > MAX_DEPTH:
            raise _error(f"lists and sections are nested more than {MAX_DEPTH} deep", event)
        if nodes > MAX_NODES:
            raise _error(f"more than {MAX_NODES:,} values, those behind aliases included", event)
        yield event


def _single_document(events: Iterable[yaml.Event]) -> Iterator[yaml.Event]:
    documents = 0
    for event in events:
        documents += isinstance(event, yaml.DocumentStartEvent)
        if documents > 1:
            raise _error("a second document begins; a configuration is one document, without `---` lines", event)
        yield event


def _refuse_tag(event: yaml.NodeEvent) -> None:
    tag = getattr(event, "tag", None)
    if tag is not None:
        name = tag.replace("tag:yaml.org,2002:", "!!")
        raise _error(f"tag {name[:40]} is not supported; write the plain value without a tag", event)


def _error(problem: str, event: yaml.Event) -> yaml.MarkedYAMLError:
    mark = event.start_mark
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark if isinstance(mark, yaml.Mark) else None)
