"""What an event loop costs is paid by hosts whose matches wait in one."""

from __future__ import annotations

import re
import subprocess
import sys

DEADLINE_S = 60.0


def test_a_host_whose_matches_wait_for_nothing_starts_without_asyncio() -> None:
    words = [sys.executable, "-X", "importtime", "-m", "ludus.games.toy.host"]
    said = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_S)
    imported = set(re.findall(r"^import time: .*\| +(\S+)$", said.stderr, re.MULTILINE))
    assert "ludus.sdk.serve" in imported
    assert "asyncio" not in imported
