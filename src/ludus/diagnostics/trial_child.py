"""The process of one trial of `ludus tune`: `python -m ludus.diagnostics.trial_child`.

It reads a `TrialOrder` from stdin and writes lines of JSON to stdout: `TrialProgress`, and at last the trial. An error
of the run is written as the trial's failure. A process of its own frees all memory at its end, GPU memory included,
and can be killed if it hangs.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ludus.diagnostics import training_trial
from ludus.diagnostics.training_trial import TrialOrder, TrialProgress
from ludus.diagnostics.tuning import TrainingTrial
from ludus.errors import LudusError
from ludus.metrics.exporters.log import logging_to

OOM_SCORE = Path("/proc/self/oom_score_adj")
KILLED_FIRST = b"500"  # if memory runs out, Linux ends the trial rather than the tuning
LOG = "run.log"


class TrialMessage(Struct, omit_defaults=True):
    """One line from the process of a trial; one of the fields is set."""

    progress: TrialProgress | None = None
    trial: TrainingTrial | None = None


def main() -> None:
    """Run the trial that stdin describes. The process ends at once if stdin is closed: its parent is then gone."""
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a `print` of a library must not be taken for a message
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=TrialOrder)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(OSError):
        OOM_SCORE.write_bytes(KILLED_FIRST)

    def tell(message: TrialMessage) -> None:
        messages.write(msgspec.json.encode(message) + b"\n")
        messages.flush()

    tell(TrialMessage(trial=_result(order, lambda progress: tell(TrialMessage(progress)))))


def _result(order: TrialOrder, tell: Callable[[TrialProgress], None]) -> TrainingTrial:
    """Return the trial. If the run fails, the trial has the reason, and the log in its folder the traceback."""
    with logging_to(Path(order.folder) / LOG) as logger:
        try:
            return training_trial.measure(order, tell)
        except Exception as error:  # whatever a configuration causes is its result
            logger.exception("the trial failed")
            return training_trial.failed(order.due, _reason(error))


def _reason(error: Exception) -> str:
    """Return an error as one line. CUDA's "out of memory" is a RuntimeError whose text says so."""
    text = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
    return text if isinstance(error, LudusError) and text else f"{type(error).__name__}: {text}".removesuffix(": ")


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
