"""An extension of Griffe, which reads the API reference from the source (mkdocs.yml).

Fields are documented by the comment at the end of their line. Griffe knows docstrings only, so this makes one of it.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Attribute, Docstring, Extension

COMMENT = re.compile(r"  # (?!Any: |type: |noqa)(?P<text>.+)$")


class CommentDocs(Extension):
    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:  # Any: Griffe passes more than is used here
        """Use the comment of a field as its docstring, unless it has one."""
        if attr.docstring is None and attr.endlineno is not None:
            match = COMMENT.search(attr.lines_collection[attr.filepath][attr.endlineno - 1])
            if match:
                attr.docstring = Docstring(match["text"], parent=attr)
