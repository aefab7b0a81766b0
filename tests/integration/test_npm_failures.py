"""The installer with the real npm and registries on this machine that fail."""

from __future__ import annotations

import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ludus.errors import SetupError
from ludus.games.showdown import install

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs openssl")


class NothingHere(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(404)
        self.end_headers()

    def log_message(self, format: str, *words: object) -> None:
        pass


@contextmanager
def registry(certificate: Path | None = None) -> Iterator[str]:
    """Serve a registry without packages on a free port; with a certificate (key and chain in one file), by HTTPS."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), NothingHere)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def _npm_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give npm and the installer empty folders, and settings of this test only."""
    monkeypatch.setenv("LUDUS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    monkeypatch.setenv("npm_config_userconfig", str(tmp_path / "npmrc"))
    monkeypatch.setenv("npm_config_globalconfig", str(tmp_path / "global-npmrc"))
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_noproxy", "127.0.0.1")
    for name in ("NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA", "NODE_OPTIONS", "NODE_TLS_REJECT_UNAUTHORIZED"):
        monkeypatch.delenv(name, raising=False)


def failure(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("npm_config_registry", address)
    with pytest.raises(SetupError) as caught:
        install.ensure()
    assert "A complete log of this run" not in str(caught.value)
    return str(caught.value)


def test_self_signed_certificate_is_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = tmp_path / "self-signed.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names]
    files = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "chain")]
    subprocess.run([*command, *files], check=True, capture_output=True, timeout=60)
    certificate.write_text((tmp_path / "key").read_text() + (tmp_path / "chain").read_text())
    with registry(certificate) as address:
        line = failure(address, monkeypatch)
    assert "DEPTH_ZERO_SELF_SIGNED_CERT: request to https://127.0.0.1" in line
    assert "NODE_EXTRA_CA_CERTS" in line


def test_registry_that_nobody_serves_is_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    line = failure("http://127.0.0.1:1/", monkeypatch)
    assert "ECONNREFUSED: request to http://127.0.0.1:1/" in line
    assert "HTTPS_PROXY" in line


def test_registry_without_the_package_is_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    with registry() as address:
        line = failure(address, monkeypatch)
    assert f"E404: Not Found - GET {address}" in line
    assert "npm config get registry" in line
