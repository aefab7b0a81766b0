"""Run as a program: tie this process to its parent's life, then become the host, or whatever was asked for.

    python -I -S launch.py PARENT_PID ARGV...

Linux kills it with SIGKILL when the parent dies, which reaches a stopped process too; elsewhere the end of stdin has to
do. It runs before anything else is imported, so it needs nothing but the standard library.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
CANNOT_START = 127


def tied(argv: tuple[str, ...]) -> list[str]:
    """The command that runs `argv` and ends with the thread of this process that starts it."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *argv]


def main(parent: int, argv: list[str]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the line above
        os._exit(CANNOT_START)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and exec would hand that on
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        sys.stderr.write(f"cannot start {argv[0]}: {error.strerror}\n")
        os._exit(CANNOT_START)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
