"""Who may ask an HTTP server on this machine: programs and pages of this machine, no page of another site.

guard.js applies the same rules to Showdown servers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address

NAME = re.compile(r"(localhost|[\d.]+|\[[\d:a-f.]+\])(?::\d{1,5})?", re.IGNORECASE | re.ASCII)
ORIGIN = re.compile(r"https?://([^/]+)", re.IGNORECASE)


def why_refused(hosts: Sequence[str], origins: Sequence[str]) -> str:
    """The reason to refuse a request with these Host and Origin headers; empty if it may be answered.

    The Host header of a page whose own name leads to 127.0.0.1 (DNS rebinding) holds that name.
    """
    if len(hosts) != 1 or not is_loopback(hosts[0]):
        return "the Host header must name this machine"
    for origin in origins:
        match = ORIGIN.fullmatch(origin)
        if match is None or not is_loopback(match[1]):
            return "the page that asks is not from this machine"
    return ""


def is_loopback(host: str) -> bool:
    """Return True if `host`, with or without a port, is localhost or a loopback address."""
    match = NAME.fullmatch(host)
    if match is None:
        return False
    name = match[1].lower()
    try:
        return name == "localhost" or ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
