"""The process of `ludus watch`: `python -m ludus.watch FOLDER [PORT]`. It imports no more than the server needs, which
keeps its memory small."""

from __future__ import annotations

import sys
from pathlib import Path

from ludus.errors import LudusError
from ludus.watch.answers import Answers
from ludus.watch.page_server import WatchServer, free_port
from ludus.watch.runs_folder import Runs

FAILED = 2  # exit code of the ludus command for an error with a clear cause


def main(arguments: list[str]) -> int:
    """Serve until Ctrl-C. Returns the exit code."""
    folder, *port = arguments
    try:
        with WatchServer(Answers(Runs(Path(folder))), int(port[0]) if port else free_port()) as server:
            print(f"Watching {folder}. Open this address in a browser on this machine (Ctrl-C ends it):", flush=True)
            print(f"  {server.address}", flush=True)
            server.serve_forever()
    except KeyboardInterrupt:
        print("stopped")
    except LudusError as error:
        print(f"ludus: {error}", file=sys.stderr)
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
