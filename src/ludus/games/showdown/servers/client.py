"""A page from which a person plays on a server of this machine, with no more than a browser.

Showdown's own client is not in the simulator's package: a server sends browsers to the one on the internet.
"""

from __future__ import annotations

import re
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from ludus.errors import ConfigError
from ludus.games.showdown.servers.ports import LOOPBACK
from ludus.games.showdown.servers.visitors import why_refused

PAGE = Path(__file__).with_name("client.html")
PLACE = "SERVER_ADDRESS"
IDLE_S = 10.0  # for a browser that connects and says nothing


def serve(server: str, port: int = 0) -> ThreadingHTTPServer:
    """Return an HTTP server on loopback, to be run with `serve_forever`. Port 0 chooses a free port."""
    try:
        return ThreadingHTTPServer((LOOPBACK, port), partial(_Handler, page(server), _policy(server)))
    except OSError as error:
        raise ConfigError(f"--port: {port} cannot be used ({error.strerror}); take another, or none") from error


def page(server: str) -> bytes:
    """Return the HTML page for a server, given by its WebSocket address. Raises ConfigError."""
    if not re.fullmatch(r"wss?://[\w.:\[\]/~-]+", server):
        raise ConfigError(
            f"--server: {server!r} is no address; expected one like ws://{LOOPBACK}:8000/showdown/websocket"
        )
    return PAGE.read_text(encoding="utf-8").replace(PLACE, server).encode()


def _policy(server: str) -> str:
    """Return the content security policy of the page. It may connect to that server only and load nothing, and no other
    page may show it in a frame."""
    parts = urlsplit(server)
    inline = "script-src 'unsafe-inline'; style-src 'unsafe-inline'"
    alone = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; {inline}; {alone}; connect-src {parts.scheme}://{parts.netloc}"


class _Handler(BaseHTTPRequestHandler):
    timeout = IDLE_S

    def __init__(self, body: bytes, policy: str, *rest: object) -> None:
        self._body, self._policy = body, policy
        super().__init__(*rest)  # type: ignore[arg-type]  # what the server passes on

    def do_GET(self) -> None:
        why = why_refused(self.headers.get_all("Host", []), self.headers.get_all("Origin", []))
        if why:
            self._answer(403, "text/plain", f"refused: {why}\n".encode())
        elif urlsplit(self.path).path == "/":
            self._answer(200, "text/html", self._body)
        else:
            self._answer(404, "text/plain", b"there is one page here: /\n")

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", self._policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Discard the request log."""
