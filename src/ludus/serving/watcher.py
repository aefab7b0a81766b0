"""Follows training runs: reads newer checkpoints in a thread, so that serving does not wait for the disk."""

from __future__ import annotations

import logging
import queue
import threading
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ludus.errors import LudusError
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.checkpoint import State
from ludus.serving.library import PolicyLibrary
from ludus.serving.policy_sources import PolicySource

log = logging.getLogger(__name__)
LOOK_S = 2.0
JOIN_S = 10.0


class NewWeights(NamedTuple):
    """A newer checkpoint of a source that was read. `weights` is None if it was refused."""

    name: str
    path: Path
    weights: NDArray[np.float32] | None = None
    state: State | None = None
    sha256: str = ""  # of the model


class Watcher:
    """Looks for newer checkpoints of the watched sources of a library. `adopt` passes those that were read to it."""

    def __init__(self, library: PolicyLibrary, every_s: float = LOOK_S) -> None:
        self._library, self._every_s = library, every_s
        self._new_weights: queue.SimpleQueue[NewWeights] = queue.SimpleQueue()
        self._looked: dict[str, Path] = {}  # the last checkpoint that was looked at, by source
        self._complaints: dict[str, str] = {}  # the last one, by source
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="ludus-serve-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(JOIN_S)

    def adopt(self) -> int:
        """Switch to the checkpoints that were read since the last call. Returns their number, including refused
        ones."""
        count = 0
        while not self._new_weights.empty():
            new = self._new_weights.get()
            count += 1
            if new.weights is None or new.state is None:
                self._library.refuse_reload(new.name)
                continue
            self._library.adopt(new.name, new.path, new.weights, new.state, new.sha256)
            log.info("%s: playing with version %d (%s)", new.name, new.state.version, new.path)
        return count

    def _watch(self) -> None:
        while not self._stop.wait(self._every_s):
            for source in self._library.sources.values():
                if source.watched:
                    self._look(source)

    def _look(self, source: PolicySource) -> None:
        in_use, spec = self._library.latest(source.name)
        if spec is None:
            return  # it is read when a client asks for it
        path = source.path
        try:
            path = newest(source)
            if path == self._looked.get(source.name) or _version_of(path) == in_use:
                return
            self._looked[source.name] = path
            weights, state, sha256 = self._library.read_weights(path, spec)
        except (LudusError, OSError) as error:
            if self._complaints.get(source.name) != str(error):
                self._complaints[source.name] = str(error)
                log.warning("%s; %s goes on with version %d", error, source.name, in_use)
                self._new_weights.put(NewWeights(source.name, path))
            return
        self._new_weights.put(NewWeights(source.name, path, weights, state, sha256))


def newest(source: PolicySource) -> Path:
    """Return the folder of the checkpoint that a watched source should play with. Raises CheckpointError."""
    names = checkpoint.names_in(source.path / checkpoint.CHECKPOINTS)
    if source.best or not names:
        return source.checkpoint()
    return source.path / checkpoint.CHECKPOINTS / names[-1]


def _version_of(path: Path) -> int:
    name = checkpoint.NAME.fullmatch(path.name)
    return -1 if name is None else int(name[1])
