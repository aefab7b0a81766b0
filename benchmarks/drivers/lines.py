"""The protocol between a benchmark and a measured program: one JSON line in requests a measurement, one out answers it.

At the end of stdin the program exits. It prints nothing else to stdout.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

Answer = dict[str, float]


def answer_requests(measure: Callable[[float], Answer]) -> None:
    """Report that this program is ready, then answer each {"seconds": s} with the result of `measure(s)`."""
    answer_all(lambda request: measure(float(request["seconds"])))


def answer_all(measure: Callable[[Mapping[str, Any]], Answer]) -> None:  # Any: checked where it is used
    """Report that this program is ready, then answer each request with the result of `measure(request)`."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints goes to stderr
    out.write('{"ready": true}\n')
    for line in sys.stdin:
        out.write(json.dumps(measure(json.loads(line))) + "\n")
