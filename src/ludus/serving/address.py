"""Addresses of policy servers and of the policies on them: tcp://HOST:PORT/NAME."""

from __future__ import annotations

import hmac
import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

from ludus import limits
from ludus.errors import ConfigError

SCHEME = "tcp://"
TOKEN_FILE = "LUDUS_TOKEN_FILE"  # environment variable: the file with the token, for commands that take addresses
DEFAULT_PORT = 5555
_EXAMPLE = "tcp://127.0.0.1:5555/NAME"
_ADDRESS = re.compile(r"tcp://(\[[0-9A-Fa-f:.%]+\]|[^/:?#@\[\]\s]+):(\d{1,5})(?:/([^/?#\s]*))?(\?sample)?", re.ASCII)
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Address(NamedTuple):
    """A parsed address. `policy` is empty if the address names a server only."""

    host: str
    port: int
    policy: str = ""
    greedy: bool = True  # False for `?sample`: draw actions instead of the most likely one

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        name = f"/{self.policy}" if self.policy else ""
        return f"{SCHEME}{host}:{self.port}{name}{'' if self.greedy else '?sample'}"


def is_address(text: str) -> bool:
    """Return whether a text names a policy on a server, and not a file."""
    return text.startswith(SCHEME)


def parse(text: str, *, policy: bool = True) -> Address:
    """Parse an address. With `policy=True`, it must name a policy. Raises ConfigError."""
    text = text if "://" in text or policy else SCHEME + text
    match = _ADDRESS.fullmatch(text)
    if match is None or not 0 < int(match[2]) < 65536:
        raise ConfigError(f"{limits.clipped(text)!r} is no address of a policy server; expected e.g. {_EXAMPLE}")
    if policy and not match[3]:
        raise ConfigError(f"{text} names no policy; expected e.g. {_EXAMPLE} (`ludus serve status` lists the names)")
    return Address(match[1].strip("[]"), int(match[2]), match[3] or "", greedy=match[4] is None)


def read_token(path: Path) -> str:
    """Return the token in a file that only its owner may read. Raises ConfigError."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            raise ConfigError(f"{path}: others may read this token (mode {mode:04o}); run chmod 600 {path}")
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot read the token ({error})") from error
    if not 16 <= len(token) <= limits.TOKEN_CHARS:
        raise ConfigError(
            f"{path}: the token has {len(token)} characters, expected 16 to {limits.TOKEN_CHARS:,}; "
            f"make one with: head -c 24 /dev/urandom | base64 > {path}"
        )
    return token


def token_of_environment() -> str:
    """Return the token in the file that the environment variable LUDUS_TOKEN_FILE names, or "" if it is not set. Raises
    ConfigError."""
    path = os.environ.get(TOKEN_FILE, "")
    return read_token(Path(path)) if path else ""


def equal_tokens(one: str, other: str) -> bool:
    """Compare two tokens in constant time, so that timing does not reveal how much of a guess is right."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
