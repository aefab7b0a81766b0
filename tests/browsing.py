"""Drives a real Chromium through its DevTools protocol, over pipes."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
ANSWER_S = 60.0


def find() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a browser. Collects what the page writes to its console and what its policy refused."""

    def __init__(self, commands: int, answers: int) -> None:
        self.messages: list[str] = []
        self.requests: list[str] = []
        self._commands, self._answers = commands, answers
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def size(self, width: int, height: int, *, mobile: bool = False) -> None:
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def theme(self, name: str) -> None:
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, address: str) -> None:
        self._call("Page.navigate", url=address)

    def js(self, expression: str) -> Any:  # Any: whatever the expression is
        """Return the value of an expression, awaited if it is a promise."""
        answer = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression: str, deadline_s: float = ANSWER_S) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + deadline_s
        while not self.js(f"Boolean({expression})"):
            assert time.monotonic() < until, f"not within {deadline_s} s: {expression}; console: {self.messages}"
            self.js("new Promise(done => setTimeout(done, 50))")

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def picture(self, path: Path, *, whole: bool = True) -> None:
        data = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def _call(self, method: str, **parameters: object) -> dict[str, Any]:  # Any: JSON
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + ANSWER_S
        while True:
            answer = self._receive(until)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]  # Any: JSON
                return result
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:  # Any: JSON
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.messages.append(json.dumps(parameters["exceptionDetails"])[:1000])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.messages.append(json.dumps(parameters["args"])[:1000])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.messages.append(parameters["entry"]["text"] + " " + parameters["entry"].get("url", ""))
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def _receive(self, until: float) -> dict[str, Any]:  # Any: JSON
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, until - time.monotonic()))
            part = os.read(self._answers, 1 << 20) if ready else b""
            if not part:
                raise AssertionError("the browser does not answer")
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(line)  # Any: JSON
        return answer


@contextmanager
def browser(executable: str, folder: Path) -> Iterator[Browser]:
    """Start a Chromium with a profile of its own, and end it with the block."""
    (command_read, command_write), (answer_read, answer_write) = _high_pipe(), _high_pipe()
    arguments = [executable, *FLAGS, f"--user-data-dir={folder / 'profile'}"]
    # the browser reads commands from descriptor 3 and answers on 4
    shell = f'exec "$@" 3<&{command_read} 4>&{answer_write} {command_read}<&- {answer_write}>&-'
    process = subprocess.Popen(
        ["bash", "-c", shell, "bash", *arguments],
        pass_fds=(command_read, answer_write),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(command_read)
    os.close(answer_write)
    try:
        yield Browser(command_write, answer_read)
    finally:
        with suppress(OSError):
            os.close(command_write)
        try:
            process.wait(2.0)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait(10.0)
        os.close(answer_read)


def _high_pipe() -> tuple[int, int]:
    """Return a pipe whose descriptors are neither 3 nor 4."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends)
    for end in ends:
        os.close(end)
    return high[0], high[1]
