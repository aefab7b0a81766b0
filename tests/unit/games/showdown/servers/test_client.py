"""The page for people: served on loopback, for one server, and nothing else."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Iterator
from urllib.error import HTTPError

import pytest

from ludus.errors import ConfigError
from ludus.games.showdown.servers import client

SERVER = "ws://127.0.0.1:8000/showdown/websocket"


@pytest.fixture
def url() -> Iterator[str]:
    with client.serve(SERVER) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        host, port = serving.server_address[:2]
        assert host == "127.0.0.1"
        yield f"http://127.0.0.1:{port}"
        serving.shutdown()
        thread.join(5.0)


def test_the_page_talks_to_its_server_and_to_nobody_else(url: str) -> None:
    with urllib.request.urlopen(f"{url}/?name=ash", timeout=10) as answer:
        text = answer.read().decode()
        policy = answer.headers["Content-Security-Policy"]
    assert f"const SERVER = '{SERVER}'" in text
    assert client.PLACE not in text
    assert policy.startswith("default-src 'none'")
    assert policy.endswith("connect-src ws://127.0.0.1:8000")
    assert "frame-ancestors 'none'" in policy
    assert "innerHTML" not in text


@pytest.mark.parametrize("path", ["/client.py", "/../client.py", "//etc/passwd"])
def test_there_is_one_page_and_no_file(url: str, path: str) -> None:
    with pytest.raises(HTTPError) as refused:
        urllib.request.urlopen(f"{url}{path}", timeout=10)
    assert refused.value.code == 404
    refused.value.close()


@pytest.mark.parametrize(
    ("name", "value"), [("Origin", "https://evil.example"), ("Host", "evil.example"), ("Host", "")]
)
def test_a_page_of_another_site_gets_nothing(url: str, name: str, value: str) -> None:
    with pytest.raises(HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(url, headers={name: value}), timeout=10)
    assert refused.value.code == 403
    assert SERVER.encode() not in refused.value.read()
    refused.value.close()


@pytest.mark.parametrize(("name", "value"), [("Origin", "http://localhost:8100"), ("Host", "localhost:8100")])
def test_pages_of_this_machine_may_ask(url: str, name: str, value: str) -> None:
    with urllib.request.urlopen(urllib.request.Request(url, headers={name: value}), timeout=10) as answer:
        assert answer.status == 200


def test_an_address_that_could_break_out_of_the_page_is_refused() -> None:
    with pytest.raises(ConfigError, match="is no address"):
        client.page("ws://127.0.0.1:8000/';alert(1);'")


def test_a_port_that_is_taken_is_named() -> None:
    with client.serve(SERVER) as serving:
        port = serving.server_address[1]
        with pytest.raises(ConfigError, match=f"--port: {port} cannot be used"):
            client.serve(SERVER, int(port))
