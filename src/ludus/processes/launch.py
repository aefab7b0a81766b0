"""Start programs that cannot outlive this process.

This file is also a small program, which ties itself to its parent and then executes another program:

    python -I -S launch.py PARENT_PID ARGV...

On Linux the kernel sends SIGKILL when the parent dies, which also ends a stopped process. Elsewhere the program must
exit when its stdin is closed. The file imports the standard library only, so that it starts quickly.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
PR_SET_PTRACER = 0x59616D61
TRACER = "LUDUS_TRACER"  # environment variable: the process that may profile this one (`ludus train --profile`)
CANNOT_START = 127


def tied(argv: tuple[str, ...]) -> list[str]:
    """Return the command that runs `argv` in a process that the kernel kills when the thread that starts it ends."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *argv]


def tie_to(parent: int) -> None:
    """Make Linux kill this process when the thread that started it ends; exit at once if `parent` is gone already.

    Elsewhere this process must exit by itself when its input, or its channel to the parent, is closed.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.environ.get(TRACER, "").isdecimal():
            allow_tracing(int(os.environ[TRACER]))
    if os.getppid() != parent:  # the parent died before the line above
        os._exit(CANNOT_START)


def allow_tracing(tracer: int) -> None:
    """Let the process `tracer` and its children read this process, where Linux asks for permission (Yama)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PTRACER, tracer, 0, 0, 0)


def main(parent: int, argv: list[str]) -> None:
    """Tie this process to `parent` and replace it with the program `argv`."""
    tie_to(parent)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores SIGPIPE, and the program would inherit that
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        sys.stderr.write(f"cannot start {argv[0]}: {error.strerror}\n")
        os._exit(CANNOT_START)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
