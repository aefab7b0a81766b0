"""Train a run from its configuration. This package connects all components.

start.py starts a run, loop.py trains it from the first update to the result. The other files each do one thing that a
run does now and then: evaluate, save, change the stage, report.
"""

from ludus.run.lock import RunLock, hold
from ludus.run.loop import RunLoop, RunResult
from ludus.run.start import train

__all__ = ["RunLock", "RunLoop", "RunResult", "hold", "train"]
