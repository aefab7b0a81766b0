"""Checks that a Ray cluster requires a token: everyone who can connect to one without it controls its machines."""

from __future__ import annotations

import os
import subprocess
import sys

from ludus.actors import cluster
from ludus.errors import SetupError

CONNECT_S = 60.0  # longest wait for the process that tries to connect without a token
TOKEN = "Ray's token authentication"


def refuse_without() -> None:
    """Raise SetupError unless this machine uses Ray's token authentication."""
    if os.environ.get("RAY_AUTH_MODE") != "token":
        raise SetupError(
            f"{TOKEN} is off on this machine, so everyone who can connect to the cluster could control it; set "
            f"RAY_AUTH_MODE=token on all machines before `ray start` and before this command ({cluster.WHERE})"
        )


def refuse_open(head: str) -> None:
    """Raise SetupError if the cluster answers a process without a token."""
    program = (
        "import sys; from ray._raylet import GcsClient; "
        "GcsClient(address=sys.argv[1]).internal_kv_keys(b'', namespace=None, timeout=10); print('open')"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, head],
        env={**environment, "RAY_AUTH_MODE": "disabled"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=CONNECT_S,
    )
    if "open" in done.stdout.split():
        raise SetupError(
            f"the Ray cluster {head} accepts everyone: it was started without {TOKEN}. Set RAY_AUTH_MODE=token and "
            f"start it again ({cluster.WHERE})"
        )
