"""An extension of Griffe, which reads the API reference from the source (mkdocs.yml).

Fields are documented by a comment at the end of their line or, if it is long, on the lines above. Griffe reads only
docstrings, so this extension turns such comments into docstrings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from griffe import Attribute, Docstring, Extension

END_OF_LINE = re.compile(r"  # (?!Any: |type: |noqa)(.+)$")
WHOLE_LINE = re.compile(r"^ +# (.+)$")


class CommentDocs(Extension):
    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:  # Any: Griffe passes more than is used here
        """Use the comment of a field as its docstring, unless it has one."""
        path = attr.filepath
        if attr.docstring or isinstance(path, list) or attr.lineno is None or attr.endlineno is None:
            return
        text = comment(attr.lines_collection[path], attr.lineno, attr.endlineno)
        if text:
            attr.docstring = Docstring(text, parent=attr)


def comment(lines: Sequence[str], first: int, last: int) -> str:
    """Return the comment of the statement on lines `first` to `last`, counted from 1; empty if there is none."""
    match = END_OF_LINE.search(lines[last - 1])
    if match:
        return match[1]
    above: list[str] = []
    for line in reversed(lines[: first - 1]):
        match = WHOLE_LINE.match(line)
        if not match:
            break
        above.insert(0, match[1])
    return " ".join(above)
