"""One search process: it draws worlds for a position and plays joint actions in them (host/search/process.js)."""

from __future__ import annotations

import json
import os
import select
import struct
import subprocess
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ludus.errors import HostError
from ludus.games.showdown import install
from ludus.processes.launch import tied
from ludus.spec import GameSpec

SCRIPT = Path(__file__).parents[1] / "host" / "search" / "process.js"
START_DEADLINE_S = 120.0  # the first process of a format counts the sets of its generator
HEADER = struct.Struct("<II")  # bytes of JSON, further bytes
LARGEST_ANSWER = 1 << 28
READ_BYTES = 1 << 20


class SearchAnswer(msgspec.Struct, frozen=True):
    """An answer of a search process. The question decides which fields it has."""

    id: int = 0
    leaves: list[tuple[str, str, list[int]]] = []
    actions: int = 0
    slots: int = 1
    legal: list[list[int]] = []  # the foe's legal actions in each world; empty where it has nothing to choose
    own: list[int] = []  # own actions that were looked at
    cells: list[tuple[int, int, int, int, float, float]] = []  # world, own, foe, sign of its row, outcome, potential
    failures: int = 0  # worlds and joint actions that could not be played, since the start


class SearchProcess:
    """Starts a process, and asks it one question at a time.

    It dies with the thread that made it (PR_SET_PDEATHSIG), when `close` is called, and when the object is collected.
    """

    def __init__(self, spec: GameSpec, *, node: str = "wheel", usage: str | None = None) -> None:
        """Start the process; `ready` says when it has answered. Raises SetupError."""
        from ludus.games.showdown.game import NODE_FLAGS  # it imports the scripted players, which search

        options = _options(spec, usage)
        installed = install.ensure(node)
        argv = (str(installed.node), *NODE_FLAGS, str(SCRIPT), "--sim", str(installed.root))
        self._process = subprocess.Popen(
            tied(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdout.fileno(), False)
        self._end = weakref.finalize(self, _end, self._process)
        self._buffer = bytearray()
        self._last_id = 0
        self._spec = spec
        self.ask({"kind": "start", "options": options})

    def fileno(self) -> int:
        """Return the descriptor that becomes readable with an answer."""
        return self._stdout.fileno()

    def ask(self, question: dict[str, Any], data: bytes = b"") -> None:  # Any: JSON
        """Send a question. Ask the next one after the answer has been taken. Raises HostError if the process died."""
        self._last_id += 1
        text = json.dumps({**question, "id": self._last_id}).encode()
        try:
            self._stdin.write(HEADER.pack(len(text), len(data)) + text + data)
        except BrokenPipeError:
            raise HostError("the search process died; its log is above") from None

    def take(self) -> tuple[SearchAnswer, bytes] | None:
        """Return the answer if it is complete, else None. Does not wait. Raises HostError if the process died."""
        while True:
            try:
                piece = os.read(self._stdout.fileno(), READ_BYTES)
            except BlockingIOError:
                break
            if not piece:
                raise HostError("the search process died; its log is above")
            self._buffer += piece
            if len(piece) < READ_BYTES:
                break
        if len(self._buffer) < HEADER.size:
            return None
        head, more = HEADER.unpack_from(self._buffer)
        end = HEADER.size + head + more
        if end > LARGEST_ANSWER:
            raise HostError(f"the search process announced an answer of {end:,} bytes")
        if len(self._buffer) < end:
            return None
        answer = msgspec.json.decode(bytes(self._buffer[HEADER.size : HEADER.size + head]), type=SearchAnswer)
        data = bytes(self._buffer[HEADER.size + head : end])
        del self._buffer[:end]
        if answer.leaves:
            self._check(answer)
        return answer, data

    def wait(self, timeout_s: float) -> tuple[SearchAnswer, bytes] | None:
        """Return the answer, or None if it does not come in time."""
        until_s = time.monotonic() + timeout_s
        while True:
            answer = self.take()
            left_s = until_s - time.monotonic()
            if answer is not None or left_s <= 0:
                return answer
            select.select([self], [], [], left_s)

    def close(self) -> None:
        """End the process and wait for it."""
        self._end()

    def _check(self, answer: SearchAnswer) -> None:
        leaves = [(leaf.name, leaf.dtype, list(leaf.shape)) for leaf in self._spec.obs.leaves]
        if [(name, dtype, list(shape)) for name, dtype, shape in answer.leaves] != leaves:
            raise HostError(f"{self._spec.name}: the search process makes other observations than the host")
        if answer.actions != self._spec.actions or answer.slots != 1:
            raise HostError(f"{self._spec.name}: search plays singles only")


def _options(spec: GameSpec, usage: str | None) -> dict[str, object]:
    """Return the options of a host that makes these observations. Raises HostError if its format cannot be searched."""
    name = spec.facts.get("format")
    if not isinstance(name, str) or spec.facts.get("teams", 0) != 0:
        raise HostError(f"{spec.name}: search plays formats that make their own teams, such as gen9randombattle")
    columns = spec.layout.get("pokemon")
    shows_beliefs = isinstance(columns, list) and any(str(column).endswith("_chance") for column in columns)
    return {
        "format": name,
        "feature_set": "full" if any(leaf.name == "matchup" for leaf in spec.obs.leaves) else "raw",
        "beliefs": shows_beliefs or spec.name.startswith("showdown-gen1-"),
        "usage": usage,
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.kill()
    process.wait()
