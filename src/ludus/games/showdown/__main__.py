"""`python -m ludus.games.showdown` installs the simulator; `make` calls it. Says nothing when nothing is missing."""

from __future__ import annotations

import sys

from ludus.errors import SetupError
from ludus.games.showdown import install

BAR = 30


def main() -> int:
    steps: set[str] = set()

    def show(stage: str, fraction: float) -> None:
        if sys.stderr.isatty():
            full = round(BAR * fraction)
            print(f"\rsimulator  {'█' * full}{'·' * (BAR - full)} {fraction:4.0%} {stage:<12}", end="", file=sys.stderr)
        elif stage not in steps:
            print(f"simulator: {stage}", file=sys.stderr)
        steps.add(stage)

    try:
        installation = install.ensure(progress=show)
    except SetupError as error:
        print(f"\n{error}" if steps else error, file=sys.stderr)
        return 1
    if steps:
        if sys.stderr.isatty():
            print(file=sys.stderr)
        print(f"simulator {install.VERSION} is in {installation.root}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
