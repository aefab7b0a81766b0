"""Which requests a server on this machine answers."""

from __future__ import annotations

import json
import subprocess

import pytest

from ludus.games.showdown.install import Installation
from ludus.games.showdown.servers import overlay, visitors

HERE = ["127.0.0.1:8000"]
LOOPBACK = ["localhost", "LocalHost:8000", "127.0.0.1", "127.0.0.1:80", "127.255.0.9", "[::1]", "[::1]:8000"]
STRANGE = [
    *("", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:8000", "localhost:port"),
    *("10.0.0.1", "0.0.0.0", "[::2]", "::1", "[::1", "127.0.0.1:8000:1", "127.0.0.1, evil.example", "user@localhost"),
    *("127.0.0.1\n", "1277.0.0.1", "127.1.1", "127.0.0.1/", "\u0661\u0662\u0667.0.0.1"),
]


@pytest.mark.parametrize("host", LOOPBACK)
def test_a_loopback_host_is_answered_and_so_is_its_origin(host: str) -> None:
    assert visitors.why_refused([host], []) == ""
    assert visitors.why_refused(HERE, [f"http://{host}"]) == ""


@pytest.mark.parametrize("host", STRANGE)
def test_any_other_host_is_refused_and_so_is_its_origin(host: str) -> None:
    assert visitors.why_refused([host], []) == "the Host header must name this machine"
    assert visitors.why_refused(HERE, [f"http://{host}"]) == "the page that asks is not from this machine"


@pytest.mark.parametrize("origin", ["null", "file://", "http://", "localhost", "http://localhost/", "ftp://localhost"])
def test_an_origin_that_names_no_site_of_this_machine_is_refused(origin: str) -> None:
    assert visitors.why_refused(HERE, [origin])


def test_one_host_is_needed_and_all_origins_count() -> None:
    assert visitors.why_refused([], [])
    assert visitors.why_refused([*HERE, *HERE], [])
    assert visitors.why_refused(HERE, ["http://localhost", "https://evil.example"])


def test_showdown_servers_follow_the_same_rules(showdown: Installation) -> None:
    hosts = [*LOOPBACK, *STRANGE]
    script = (
        f"const {{ whyRefused }} = require({json.dumps(str(overlay.GUARD))});"
        f"const hosts = {json.dumps(hosts)};"
        "const asked = hosts.flatMap(host => [{host: [host]}, {host: ['localhost'], origin: [`http://${host}`]}]);"
        "console.log(JSON.stringify(asked.map(headers => whyRefused(headers, 'GET', '127.0.0.1') ?? '')));"
    )
    said = subprocess.run([str(showdown.node), "-e", script], capture_output=True, timeout=60, check=True)
    expected = [
        visitors.why_refused(*asked) for host in hosts for asked in (([host], []), (["localhost"], [f"http://{host}"]))
    ]
    assert json.loads(said.stdout) == expected
