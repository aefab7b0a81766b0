"""The processes of a run that can be profiled."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

KINDS = ("learner", "actor", "hosts")
MOST_OF_A_KIND = 8  # profiling all of 64 hosts would slow them down and show the same frames
ACTOR = "ludus.actors.child"
Program = Literal["python", "node", "java", "other"]


@dataclass(frozen=True, slots=True)
class ProfiledProcess:
    """A process to profile."""

    name: str  # learner, actor 0, host 3
    kind: str  # of KINDS
    pid: int
    program: Program
    executable: str


def of_run(pid: int, kinds: Collection[str], ignored: Collection[int] = ()) -> list[ProfiledProcess]:
    """Return the processes of the run whose learner has this pid, at most `MOST_OF_A_KIND` of each kind.

    Hosts are the children of actors; with `mode: serial`, those of the learner. `ignored` are other children, such as
    servers.
    """
    learner = psutil.Process(pid)
    children = [child for child in learner.children() if child.pid not in ignored]
    actors = [child for child in children if ACTOR in _words(child)]
    parents = actors or [learner]
    hosts = [host for parent in parents for host in _children(parent) if host.pid not in ignored]
    every = [
        *_of_kind("learner", [learner]),
        *_of_kind("actor", actors),
        *_of_kind("hosts", [host for host in hosts if host not in actors]),
    ]
    return [target for target in every if target.kind in kinds]


def _of_kind(kind: str, processes: list[psutil.Process]) -> Iterator[ProfiledProcess]:
    for at, process in enumerate(sorted(processes, key=lambda each: each.pid)[:MOST_OF_A_KIND]):
        try:
            executable = process.exe()
        except psutil.Error:
            executable = ""
        name = {"learner": "learner", "actor": f"actor {at}", "hosts": f"host {at}"}[kind]
        yield ProfiledProcess(name, kind, process.pid, _program(executable), executable)


def _program(executable: str) -> Program:
    name = Path(executable).name
    if name.startswith(("python", "pypy")):
        return "python"
    if name in ("node", "nodejs"):
        return "node"
    return "java" if name == "java" else "other"


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.Error:
        return []
