"""How a measured program talks to the benchmark: one JSON line in asks for a measurement, one JSON line out answers it.

The end of stdin means: leave. Nothing else may be printed on stdout.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

Answer = dict[str, float]


def answer_requests(measure: Callable[[float], Answer]) -> None:
    """Say that this program is ready, then answer each {"seconds": s} with what `measure(s)` returns."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints goes to stderr
    out.write('{"ready": true}\n')
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)  # Any: checked by the use below
        out.write(json.dumps(measure(float(request["seconds"]))) + "\n")
