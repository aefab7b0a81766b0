"""Findings of `ludus doctor`, and checks that it shares with games: free disk space and free ports."""

from __future__ import annotations

import errno
import os
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

LOOPBACK = "127.0.0.1"
OTHER_FOLDER = "choose another folder: --run-dir, LUDUS_HOME"

State = Literal["ok", "note", "missing"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `ludus doctor`. `note` is a warning; `missing` means that runs cannot start."""

    name: str
    state: State
    detail: str
    remedy: str = ""


def disk(name: str, folder: Path, needed_mib: int, wanted_mib: int) -> Finding:
    """Check the free space where `folder` is or will be, and whether it can be written."""
    existing_folder = next(path for path in (folder, *folder.parents) if path.exists())
    free_mib = shutil.disk_usage(existing_folder).free >> 20
    detail = f"{free_mib:,} MiB free in {existing_folder}"
    if not os.access(existing_folder, os.W_OK):
        return Finding(name, "missing", f"{existing_folder} cannot be written", OTHER_FOLDER)
    if free_mib < needed_mib:
        return Finding(name, "missing", detail, f"free {needed_mib} MiB, or {OTHER_FOLDER}")
    if free_mib < wanted_mib:
        return Finding(name, "note", detail, "enough for a short run; checkpoints of long ones may not fit")
    return Finding(name, "ok", detail)


def port(number: int, purpose: str) -> Finding:
    """Check whether a loopback port is free for `purpose`. A port in use is a note: training itself needs none."""
    name = f"port {number}"
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name != "nt":  # there it would mean that a port in use may be taken
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, number))
        except OSError as error:
            detail = "in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
            remedy = f"only {purpose} needs it; stop the program that uses it, or choose another port"
            return Finding(name, "note", detail, remedy)
    return Finding(name, "ok", f"free for {purpose}")
