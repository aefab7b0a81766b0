"""An actor process that does what a test tells it: `python -I -S fake_actor.py PLAN CONTROL_FD MEMORY_FD`.

PLAN is JSON, a list of steps: {"send": HEX} sends these bytes, "read" waits for a message, "die" is SIGKILL, "hang"
reads nothing for ever, "obey" reads until Stop comes or the channel ends. It needs the standard library alone, so that
it starts in milliseconds.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys


def main() -> None:
    steps = json.loads(sys.argv[1])
    control = socket.socket(fileno=int(sys.argv[2]))
    for step in steps:
        if isinstance(step, dict):
            control.sendall(bytes.fromhex(step["send"]))
        elif step == "read":
            read(control)
        elif step == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif step == "hang":
            signal.pause()
        elif step == "obey":
            while b"Stop" not in read(control):
                pass


def read(control: socket.socket) -> bytes:
    """The next message; leaves when there is none."""
    (size,) = struct.unpack("<I", exactly(control, 4))
    return exactly(control, size)


def exactly(control: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = control.recv(size - len(data))
        if not part:
            sys.exit(0)
        data += part
    return data


if __name__ == "__main__":
    main()
