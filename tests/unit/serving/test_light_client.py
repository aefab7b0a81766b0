"""Clients run in programs that have neither torch nor the training side of ludus."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import ludus.serving
heavy = ("torch", "typer", "rich", "safetensors", "matplotlib", "psutil", "yaml")
print([name for name in heavy if name in sys.modules])
"""


def test_the_client_needs_numpy_and_msgspec_only() -> None:
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout == "[]\n"
