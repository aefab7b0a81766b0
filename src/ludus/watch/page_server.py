"""Serves the page and its answers on this machine: read-only, only to who knows the token in the address."""

from __future__ import annotations

import hmac
import secrets
import socket
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

import msgspec

from ludus.errors import SetupError
from ludus.watch import assets
from ludus.watch.answers import Answers, NotFound

LOOPBACK = "127.0.0.1"
TOKEN_BYTES = 16
REQUEST_S = 30.0  # deadline for a request to arrive
LONGEST_QUERY = 16_384
PORT = 7777  # unless it is in use
# A saved match may come from elsewhere: it is shown without scripts, and cannot load or reach anything.
MATCH_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class WatchServer(ThreadingHTTPServer):
    """The page of `ludus watch`. Serve with `serve_forever`, stop with `shutdown`."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, answers: Answers, port: int, token: str | None = None) -> None:
        """Listen on this machine only; port 0 takes a free one. Raises SetupError if the port is in use."""
        self.answers = answers
        self.token = token or secrets.token_urlsafe(TOKEN_BYTES)
        try:
            super().__init__((LOOPBACK, port), _WatchHandler)
        except OSError as error:
            raise SetupError(
                f"port {port} cannot be used: {error.strerror}; choose another with --port, or 0 for any free one"
            ) from error

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/{self.token}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that went away is no error; anything else was answered with status 500."""


def free_port(port: int = PORT) -> int:
    """Return this port, or 0 (any free one) if it is in use."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return 0
    return port


class _WatchHandler(BaseHTTPRequestHandler):
    server: WatchServer
    protocol_version = "HTTP/1.1"
    timeout = REQUEST_S
    server_version, sys_version = "ludus", ""

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        try:
            self._route()
        except NotFound as error:
            self._send_json({"error": str(error)}, HTTPStatus.NOT_FOUND)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        except Exception as error:
            self._send_json({"error": f"unexpected {type(error).__name__}"}, HTTPStatus.INTERNAL_SERVER_ERROR)
            raise

    def _route(self) -> None:
        if (problem := self._refusal()) is not None:
            self._send(problem.encode(), "text/plain", HTTPStatus.FORBIDDEN)
            return
        parts = urlsplit(self.path)
        token, _, rest = parts.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()) or len(parts.query) > LONGEST_QUERY:
            self._send(b"open the whole address that `ludus watch` printed\n", "text/plain", HTTPStatus.FORBIDDEN)
            return
        query = dict(parse_qsl(parts.query, max_num_fields=20))
        if rest.startswith("api/"):
            self._send_json(self.server.answers.to(rest.removeprefix("api/"), query))
        elif rest == "match":
            self._send(self.server.answers.page_of_match(query), "text/html", policy=MATCH_POLICY)
        elif rest == "":
            nonce = secrets.token_urlsafe(TOKEN_BYTES)
            self._send(assets.page(nonce).encode(), "text/html", policy=assets.policy(nonce))
        elif (asset := assets.read(rest)) is not None:
            self._send(asset.data, asset.kind)
        else:
            raise NotFound("there is no such file")

    def _refusal(self) -> str | None:
        """Return why a request is refused: it names another host (DNS rebinding) or comes from another site."""
        hosts = {f"{name}:{self.server.port}" for name in (LOOPBACK, "localhost")}
        if self.headers.get("Host", "") not in hosts:
            return "this page answers to 127.0.0.1 and localhost only; forward the same port number\n"
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in hosts}:
            return "requests of other sites are refused\n"
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return "requests of other sites are refused\n"
        return None

    def _send_json(self, data: object, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(msgspec.json.encode(data), "application/json", status)

    def _send(
        self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK, policy: str = "default-src 'none'"
    ) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", f"{policy}; frame-ancestors 'self'"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *words: object) -> None:
        """Write nothing: addresses hold the token."""
