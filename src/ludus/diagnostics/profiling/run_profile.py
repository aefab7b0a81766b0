"""Profiles the processes of a run for some seconds, once it has made an update. An observer of the run."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import msgspec

from ludus import files
from ludus.diagnostics.profiling import recorders, stacks, targets
from ludus.diagnostics.profiling.kernels import KernelRecorder
from ludus.diagnostics.profiling.recorders import NodeRecorder, ProfileError, StackRecorder
from ludus.diagnostics.profiling.stacks import HotFrame, StackSamples
from ludus.diagnostics.profiling.targets import KINDS, ProfiledProcess
from ludus.errors import ConfigError, SetupError
from ludus.metrics import names
from ludus.metrics.observer import Numbers, Result
from ludus.processes.launch import TRACER, allow_tracing
from ludus.suggestions import did_you_mean

FOLDER = "profile"  # in a run's folder, with a number
SPEEDSCOPE, PAGE, JSON = "profile.speedscope.json", "hottest.md", "hottest.json"
PRELOAD = Path(__file__).with_name("node_profile.cjs")
NODE_PROFILES, NODE_OPTIONS = "LUDUS_NODE_PROFILES", "NODE_OPTIONS"
MOST_FRAMES = 40  # lines of the table
GATHER_S = 120.0  # longest wait for all profilers to write their files
SHORTEST_S, LONGEST_S = 1.0, 600.0
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """The result of a profile of a run. `troubles` are lines about processes that could not be profiled."""

    folder: Path
    frames: list[HotFrame]
    troubles: list[str]


def kinds_of(text: str) -> tuple[str, ...]:
    """Return the kinds of processes that `--profile` names. Raises ConfigError for an unknown one."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    words = list(KINDS) if "all" in words else [{"host": "hosts", "actors": "actor"}.get(word, word) for word in words]
    for word in words:
        if word not in KINDS:
            raise ConfigError(f"--profile: there is no kind of process {word!r}; {did_you_mean(word, [*KINDS, 'all'])}")
    if not words:
        raise ConfigError(f"--profile: names no process; give some of {', '.join(KINDS)}, or all")
    return tuple(kind for kind in KINDS if kind in words)


class RunProfile:
    """Starts the recorders at the first report after an update, and collects them `seconds` later or at the end.

    Enter it before the run starts its processes: they must know then that they will be profiled. Every call is bounded;
    a profiler that fails costs the run nothing but a line of its log.
    """

    def __init__(
        self,
        run_dir: Path,
        kinds: Collection[str],
        seconds: float,
        *,
        hook: Sequence[str] = (),
        on_gpu: bool = False,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`hook` is the command with which the game's hosts are profiled. `on_gpu`: the learner uses a GPU."""
        if not SHORTEST_S <= seconds <= LONGEST_S:
            raise ConfigError(f"--profile-seconds: {seconds:g} is not between {SHORTEST_S:g} and {LONGEST_S:g}")
        if {"learner", "actor"} & set(kinds) and recorders.py_spy() is None:
            raise SetupError("--profile: py-spy is missing; pip install 'ludus-rl[profile]'")
        self._run_dir, self._kinds, self._seconds, self._hook = run_dir, tuple(kinds), seconds, tuple(hook)
        self._on_gpu = on_gpu and "learner" in kinds
        self._clock_s = clock_s
        self._folder: Path | None = None
        self._before: dict[str, str | None] = {}
        self._recorders: list[StackRecorder] = []
        self._kernels: KernelRecorder | None = None
        self._until_s: float | None = None
        self._gathering: threading.Thread | None = None
        self._troubles: list[str] = []
        self.result: ProfileResult | None = None

    def __enter__(self) -> RunProfile:
        """Let this process and its children profile the processes that are started from now on."""
        folder = self._new_folder()
        node = f'--require "{PRELOAD}" {os.environ.get(NODE_OPTIONS, "")}'.strip()
        changes = {TRACER: str(os.getpid())}
        if "hosts" in self._kinds:
            changes |= {NODE_PROFILES: str(folder.resolve()), NODE_OPTIONS: node}
        self._before = {name: os.environ.get(name) for name in changes}
        os.environ.update(changes)
        allow_tracing(os.getpid())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if self._until_s is None and self.result is None:
            self._troubles.append("the run ended before its first update")
        self._collect()
        for path in self._new_folder().glob("*.ready"):  # of hosts that were started for an evaluation
            path.unlink(missing_ok=True)

    def on_progress(self, numbers: Numbers) -> None:
        """Start after the first update, and collect when the time is over or the budget of the run is used up."""
        updates, used = numbers.get(names.UPDATES, 0), numbers.get(names.PROGRESS, 0)
        if self._until_s is None:
            if isinstance(updates, int | float) and updates > 0 and self.result is None:
                self._begin()
        elif isinstance(used, int | float) and used >= 1:
            self._collect()
        elif self._clock_s() >= self._until_s:
            self._end()

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        """Do nothing."""

    def _begin(self) -> None:
        folder = self._new_folder()
        self._until_s = self._clock_s() + self._seconds
        log.info("profiling %s for %g s", ", ".join(self._kinds), self._seconds)
        processes = targets.of_run(os.getpid(), self._kinds)
        (folder / "begin").touch()
        for target in processes:
            try:
                self._recorders.append(self._recorder(target, folder))
            except ProfileError as error:
                self._troubles.append(f"{target.name} (pid {target.pid}): {error}")
        if self._on_gpu:
            self._kernels = KernelRecorder(cuda=True)

    def _recorder(self, target: ProfiledProcess, folder: Path) -> StackRecorder:
        if target.kind == "hosts" and self._hook:
            return recorders.of_hook(target, self._hook, folder, self._seconds)
        if target.program == "python":
            return recorders.of_python(target, folder, self._seconds)
        if target.program == "node":
            return NodeRecorder(target, folder)
        if target.program == "java":
            return recorders.JavaRecorder(target, folder)
        raise ProfileError(
            f"{Path(target.executable).name or 'this program'} has no profiler here; a game names one with "
            "HostCommand.profile"
        )

    def _collect(self) -> None:
        """End the recording and wait for the results, while the processes still run."""
        self._end()
        if self._gathering is not None:
            self._gathering.join(GATHER_S)

    def _end(self) -> None:
        """End the recording. A thread collects the results, so that training goes on."""
        if self._gathering is not None:
            return
        folder, profiles = self._new_folder(), list[StackSamples]()
        with suppress(OSError):
            (folder / "end").touch()
        if self._kernels is not None:
            profiles.append(self._kernels.stop(folder))
        self._gathering = threading.Thread(target=self._gather, args=(folder, profiles), daemon=True)
        self._gathering.start()

    def _gather(self, folder: Path, profiles: list[StackSamples]) -> None:
        for recorder in self._recorders:
            target = recorder.target
            try:
                profiles.append(recorder.result())
            except ProfileError as error:
                self._troubles.append(f"{target.name} (pid {target.pid}): {error}")
            finally:
                recorder.close()
        self._recorders.clear()
        frames = stacks.hottest(profiles, MOST_FRAMES)
        result = ProfileResult(folder, frames, self._troubles)
        for line in self._troubles:
            log.warning("profile: %s", line)
        write(result, profiles)
        for path in (*folder.glob("*.ready"), *folder.glob("begin"), *folder.glob("end")):
            path.unlink(missing_ok=True)
        self.result = result

    def _new_folder(self) -> Path:
        """Return the folder of this profile; an earlier profile of the run keeps its own."""
        if self._folder is None:
            number = 1
            while (self._run_dir / f"{FOLDER}-{number}").exists():
                number += 1
            self._folder = self._run_dir / f"{FOLDER}-{number}"
            self._folder.mkdir(parents=True)
        return self._folder


def write(result: ProfileResult, profiles: Sequence[StackSamples]) -> None:
    """Write the speedscope file of all processes, and the table as Markdown and JSON."""
    name = f"profile of {result.folder.parent.name}"
    files.replace(result.folder / SPEEDSCOPE, msgspec.json.encode(stacks.speedscope(profiles, name)))
    page = {
        "frames": [
            {
                "process": line.process,
                "function": line.frame.function,
                "place": line.frame.place,
                "self_share": line.self_share,
                "total_share": line.total_share,
            }
            for line in result.frames
        ],
        "troubles": result.troubles,
    }
    files.replace(result.folder / JSON, msgspec.json.format(msgspec.json.encode(page)))
    files.replace(result.folder / PAGE, markdown(result).encode())


def markdown(result: ProfileResult) -> str:
    """Return the table of the hottest frames as a page."""
    heads = ["| process | function | place | self | with callees |", "| --- | --- | --- | --- | --- |"]
    rows = [
        f"| {line.process} | {_escape(line.frame.function)} | {_escape(line.frame.place)} | {line.self_share:.1%} | "
        f"{line.total_share:.1%} |"
        for line in result.frames
    ]
    troubles = "".join(f"- {_escape(line)}\n" for line in result.troubles)
    return "\n".join(["# Hottest frames", "", *heads, *rows, "", troubles])


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("`", "'")
