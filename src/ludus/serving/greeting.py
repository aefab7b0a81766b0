"""Checks a client's HELLO and keeps the rows of clients, also while they are not connected."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from ludus import limits
from ludus.errors import LudusError, ProtocolError
from ludus.serving import protocol
from ludus.serving.address import equal_tokens
from ludus.serving.connection import Connection
from ludus.serving.decision_table import ClientRows
from ludus.serving.library import PolicyLibrary, ServedPolicy
from ludus.serving.protocol import ClientHello, Code, Welcome

log = logging.getLogger(__name__)


class RefusedClient(Exception):
    """Raised for a client that is refused: its connection ends after it was told the reason."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


@dataclass(eq=False, slots=True)
class ClientSession:
    """A client of one policy: its rows, and its connection while it has one."""

    client: str
    served: ServedPolicy
    rows: ClientRows = field(default_factory=ClientRows)
    connection: Connection | None = None
    expires_s: float = 0.0  # without a connection: when its rows are freed


class ClientSessions:
    """The sessions of a server. A lost connection leaves its session for `lease_s` seconds."""

    def __init__(self, library: PolicyLibrary, *, token: str, lease_s: float) -> None:
        self._library, self._token, self._lease_s = library, token, lease_s
        self._sessions: dict[tuple[str, str, bool], ClientSession] = {}

    def greet(
        self, connection: Connection, body: memoryview
    ) -> tuple[ClientSession | None, Welcome, Connection | None]:
        """Check a HELLO. Returns the session (None for a client that only asks for STATUS), the answer, and an earlier
        connection of the same client, which must be closed. Raises RefusedClient."""
        try:
            hello = protocol.decode_json(body, ClientHello)
        except ProtocolError as error:
            raise RefusedClient(Code.PROTOCOL, str(error)) from error
        if not equal_tokens(hello.token, self._token):
            raise RefusedClient(
                Code.TOKEN,
                "wrong token; the client needs the file that `ludus serve --token-file` names here"
                if self._token
                else "this server has no token, and the client sent one",
            )
        if hello.protocol != protocol.VERSION:
            raise RefusedClient(
                Code.PROTOCOL, f"the client speaks protocol {hello.protocol}, this server speaks {protocol.VERSION}"
            )
        connection.client = hello.client
        welcome = Welcome(protocol.VERSION, self._library.names, self._lease_s, limits.ASK_ROWS)
        if hello.policy is None:
            connection.accept_frames()
            return None, welcome, None
        try:
            served = self._library.open(hello.policy, greedy=hello.greedy)
        except LudusError as error:
            raise RefusedClient(Code.UNKNOWN_POLICY, str(error)) from error
        _check_game(hello, served)
        game = served.describe().game
        connection.limit_asks(
            protocol.ask_bytes(protocol.most_rows(game.actions, game.row_bytes), game.actions, game.row_bytes)
        )
        session, earlier = self._enter(hello, served)
        welcome = Welcome(
            protocol.VERSION,
            self._library.names,
            self._lease_s,
            protocol.most_rows(game.actions, game.row_bytes),
            served.describe(),
            resumed=len(session.rows.slots) > 0,
        )
        session.connection = connection
        return session, welcome, earlier

    def lose(self, session: ClientSession, now_s: float) -> None:
        """Keep the rows of a client whose connection was lost, for the length of a lease."""
        session.connection, session.expires_s = None, now_s + self._lease_s

    def end(self, session: ClientSession) -> None:
        """Free the rows of a client."""
        self._sessions.pop((session.client, session.served.name, session.served.greedy), None)
        session.served.slots.release(session.rows)
        session.served.clients -= 1

    def expire(self, now_s: float) -> int:
        """Free the rows of clients that have not come back in time, and return the number of these clients."""
        expired_sessions = [
            each for each in self._sessions.values() if each.connection is None and now_s >= each.expires_s
        ]
        for session in expired_sessions:
            log.info("client %s did not come back: %d rows freed", session.client, len(session.rows.slots))
            self.end(session)
        return len(expired_sessions)

    def _enter(self, hello: ClientHello, served: ServedPolicy) -> tuple[ClientSession, Connection | None]:
        key = (hello.client, served.name, served.greedy)
        session = self._sessions.get(key)
        if session is None:
            if len(self._sessions) >= limits.CLIENTS:
                raise RefusedClient(Code.BUSY, f"{len(self._sessions):,} clients hold rows here; try again later")
            session = self._sessions[key] = ClientSession(hello.client, served)
            served.clients += 1
        return session, session.connection


def _check_game(hello: ClientHello, served: ServedPolicy) -> None:
    """Raise RefusedClient, which names both games, if a policy does not fit the game of a client."""
    spec = served.spec
    for what, theirs, ours in (
        ("game", hello.game, spec.name),
        ("schema", hello.schema, spec.schema),
        ("fingerprint", hello.fingerprint, spec.fingerprint),
    ):
        if theirs is not None and theirs != ours:
            raise RefusedClient(
                Code.WRONG_GAME,
                f"{served.name} was trained for {what} {ours}, the client plays {what} {theirs}; use that {what}, or "
                "another policy",
            )
