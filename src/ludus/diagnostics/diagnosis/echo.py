"""A process that sends back what it reads: `python -m ludus.diagnostics.diagnosis.echo`. Ends when stdin is closed."""

from __future__ import annotations

import os


def main() -> None:
    while data := os.read(0, 1 << 16):
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]


if __name__ == "__main__":
    main()
