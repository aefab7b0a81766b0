"""Records the stacks of one process: py-spy for Python, V8's profiler for Node, Flight Recorder for the JVM."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from ludus.diagnostics.profiling import stacks
from ludus.diagnostics.profiling.stacks import StackSamples
from ludus.diagnostics.profiling.targets import ProfiledProcess
from ludus.processes.launch import tied

RATE = 100  # samples per second
END_S = 20.0  # longest wait for a profiler to write its file
TOOL_S = 30.0  # longest wait for a tool of the JDK
MOST_BYTES = 1 << 28
PTRACE = Path("/proc/sys/kernel/yama/ptrace_scope")
FORBIDDEN = ("permission denied", "operation not permitted", "failed to get process", "eperm")


class ProfileError(Exception):
    """Raised if a process could not be profiled. The text says why, and what to do."""


class StackRecorder(ABC):
    """Records one process from construction on, until `result`."""

    def __init__(self, target: ProfiledProcess) -> None:
        self.target = target
        self.began_s = time.monotonic()

    @abstractmethod
    def result(self) -> StackSamples:
        """End the recording and return the stacks. Raises ProfileError. Bounded by deadlines."""

    def close(self) -> None:  # noqa: B027  # most recorders start nothing that could still run
        """End everything that still runs. Does nothing after `result`."""

    @property
    def passed_s(self) -> float:
        return time.monotonic() - self.began_s


class CommandRecorder(StackRecorder):
    """Runs a program that records another process until SIGINT or for `seconds`, and writes a file."""

    def __init__(self, target: ProfiledProcess, command: Sequence[str], path: Path, output: Path) -> None:
        super().__init__(target)
        self._path, self._output = path, output
        self._log: IO[bytes] = output.open("wb")
        try:
            self._process = subprocess.Popen(
                tied(tuple(command)), stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log
            )
        except OSError as error:
            self._log.close()
            raise ProfileError(f"{command[0]} cannot be started: {error}") from error

    def result(self) -> StackSamples:
        seconds = self.passed_s
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)  # it writes its file and ends
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.close()
            raise ProfileError(f"its profiler did not end within {END_S:g} s") from None
        self.close()
        if not self._path.exists():
            raise ProfileError(self._reason())
        return read_profile(self._path, self.target.name, seconds)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
        self._log.close()

    def _reason(self) -> str:
        text = self._output.read_bytes()[-4000:].decode(errors="replace")
        if any(word in text.lower() for word in FORBIDDEN):
            return forbidden()
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return f"its profiler wrote nothing{f': {lines[-1][:300]}' if lines else ''}"


def forbidden() -> str:
    """Return why the system refused, and what to do."""
    scope = ""
    with suppress(OSError):
        scope = f" (kernel.yama.ptrace_scope is {PTRACE.read_text().strip()})"
    return (
        f"the system does not allow to read this process{scope}: run as root, allow it with "
        "`sysctl kernel.yama.ptrace_scope=0`, or start the container with --cap-add SYS_PTRACE"
    )


def py_spy() -> str | None:
    """Return the path of py-spy, also if it is installed beside this Python only; None if it is missing."""
    return shutil.which("py-spy") or shutil.which("py-spy", path=str(Path(sys.executable).parent))


def of_python(target: ProfiledProcess, folder: Path, seconds: float) -> StackRecorder:
    """Record a Python process with py-spy. Raises ProfileError if it is missing."""
    program = py_spy()
    if program is None:
        raise ProfileError("py-spy is missing; pip install 'ludus-rl[profile]'")
    path = folder / f"{slug(target)}.speedscope.json"
    words = ["record", "--pid", str(target.pid), "--rate", str(RATE), "--format", "speedscope", "--output", str(path)]
    return CommandRecorder(
        target, [program, *words, "--duration", str(round(seconds) + 60)], path, _output(target, folder)
    )


def of_hook(target: ProfiledProcess, hook: Sequence[str], folder: Path, seconds: float) -> StackRecorder:
    """Record a host with the command that its game names (`HostCommand.profile`)."""
    path = folder / f"{slug(target)}.profile.json"
    values = {"{pid}": str(target.pid), "{seconds}": f"{seconds:g}", "{file}": str(path)}
    return CommandRecorder(target, [values.get(word, word) for word in hook], path, _output(target, folder))


class NodeRecorder(StackRecorder):
    """Waits for the profile of a Node host that was started with node_profile.cjs. The caller writes `begin`, `end`."""

    def __init__(self, target: ProfiledProcess, folder: Path) -> None:
        super().__init__(target)
        self._path = folder / f"node-{target.pid}.cpuprofile"
        if not (folder / f"node-{target.pid}.ready").exists():
            raise ProfileError("its profiler did not start with it; does the host clear NODE_OPTIONS?")

    def result(self) -> StackSamples:
        until_s = time.monotonic() + END_S
        while not self._path.exists():
            if time.monotonic() > until_s:
                raise ProfileError(f"it wrote no profile within {END_S:g} s; did it wait all the time?")
            time.sleep(0.05)
        return read_profile(self._path, self.target.name, self.passed_s)


class JavaRecorder(StackRecorder):
    """Records a JVM with Java Flight Recorder, through the tools of the JDK that runs it."""

    def __init__(self, target: ProfiledProcess, folder: Path) -> None:
        super().__init__(target)
        self._path = folder / f"{slug(target)}.jfr"
        self._name = f"ludus-{target.pid}"
        self._tools = Path(target.executable).parent
        self._call("jcmd", str(target.pid), "JFR.start", f"name={self._name}", "settings=profile")

    def result(self) -> StackSamples:
        seconds = self.passed_s
        self._call("jcmd", str(self.target.pid), "JFR.stop", f"name={self._name}", f"filename={self._path.resolve()}")
        text = self._call(  # native samples are left out: a host that waits for stdin is in native code
            *("jfr", "print", "--json", "--events", "jdk.ExecutionSample"),
            *("--stack-depth", "64", str(self._path)),
        )
        try:
            return stacks.of_flight_recorder(msgspec.json.decode(text), self.target.name, seconds)
        except (ValueError, msgspec.MsgspecError) as error:
            raise ProfileError(str(error)) from error

    def _call(self, tool: str, *words: str) -> str:
        beside = self._tools / tool
        program = str(beside) if beside.exists() else shutil.which(tool)
        if program is None:
            raise ProfileError(f"{tool} is missing: a JDK has it, a JRE has not")
        try:
            result = subprocess.run(
                [program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TOOL_S
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ProfileError(f"{tool} failed: {error}") from error
        if result.returncode:
            lines = (result.stderr or result.stdout).strip().splitlines()
            raise ProfileError(f"{tool} failed: {lines[-1][:300] if lines else result.returncode}")
        return result.stdout


def read_profile(path: Path, name: str, seconds: float) -> StackSamples:
    """Read a speedscope file or a profile of V8. Raises ProfileError."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ProfileError(f"{path.name} has more than {MOST_BYTES >> 20} MiB; use a shorter --profile-seconds")
        data = msgspec.json.decode(path.read_bytes())
        if isinstance(data, dict) and "nodes" in data:
            return stacks.of_cpuprofile(data, name)
        return stacks.of_speedscope(data, name, seconds)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise ProfileError(f"{path.name} cannot be read: {error}") from error


def slug(target: ProfiledProcess) -> str:
    """Return the name of a target as a part of file names."""
    return target.name.replace(" ", "-")


def _output(target: ProfiledProcess, folder: Path) -> Path:
    return folder / f"{slug(target)}.log"
