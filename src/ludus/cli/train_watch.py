"""`ludus train --watch`: the page of a run, from a process of its own, while it trains."""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ludus.metrics.observer import Numbers, Result
from ludus.processes.command import ISOLATED
from ludus.processes.launch import tied

if TYPE_CHECKING:
    from rich.console import Console

START_S = 20.0  # longest wait for the address of the page
END_S = 5.0
LONGEST = 4096  # bytes that are read until the address


class RunPage:
    """Starts the server of the page when it is entered, prints its address, and ends the server with the run.

    It observes nothing: an observer is entered when the run's folder exists. If the server cannot start, the run goes
    on without a page.
    """

    def __init__(self, folder: Path, console: Console) -> None:
        self._folder = folder
        self._console = console
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> RunPage:
        command = tied((*ISOLATED, "ludus.watch", str(self._folder)))
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C ends the training, and that ends the page
        )
        address = self._address()
        if address:
            words = f"To see it in a browser on this machine while it trains: {address}"
        else:
            words = f"The page could not be started; try: ludus watch {shlex.quote(str(self._folder))}"
        self._console.print(words, highlight=False, markup=False, soft_wrap=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def on_progress(self, numbers: Numbers) -> None:
        """Do nothing."""

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        """Do nothing."""

    def _address(self) -> str:
        """Return the address that the server prints, or "" if it ends or prints none in time."""
        assert self._process is not None
        assert self._process.stdout is not None
        output, text, until_s = self._process.stdout.fileno(), b"", time.monotonic() + START_S
        while len(text) < LONGEST and (left_s := until_s - time.monotonic()) > 0:
            if not select.select([output], [], [], left_s)[0]:
                break
            chunk = os.read(output, LONGEST)
            text += chunk
            words = [line.strip() for line in text.decode(errors="replace").split("\n")[:-1]]
            address = next((word for word in words if word.startswith("http://")), "")
            if address or not chunk:
                return address
        return ""
