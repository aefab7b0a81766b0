"""A training run from its configuration: the only place that wires the components together.

start.py wires a run and starts it, loop.py is the run from its first update to its result. What it does now and then
stands in files of its own, which share parts.py: evaluating, saving, changing the stage, telling who watches.
"""

from ludus.run.lock import RunLock, hold
from ludus.run.loop import Run, RunResult
from ludus.run.start import learning, train

__all__ = ["Run", "RunLock", "RunResult", "hold", "learning", "train"]
