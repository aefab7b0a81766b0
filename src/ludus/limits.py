"""Limits on what a host, or a client of a policy server, may send. docs/host-protocol.md and docs/serving.md list them.

A value beyond a limit raises ProtocolError. Limits are checked before memory is allocated for the values.
"""

from __future__ import annotations

from typing import Final

# HELLO
SEATS: Final = 4096
ACTIONS: Final = 1 << 20
LEAVES: Final = 1024  # of an observation
DIMENSIONS: Final = 8  # of a leaf or a table
ROW_BYTES: Final = 32 << 20  # of one packed observation
ROWS: Final = 1 << 20  # matches of a host times seats
HOST_BYTES: Final = 1 << 30  # rows of a host times (bytes of a row + one byte per action)
TABLES: Final = 256
NAME_CHARS: Final = 128  # of a game, a leaf or a table
LAYOUT_DEPTH: Final = 32  # lists and objects within each other, in layout and facts
SCHEMA: Final = 1 << 31

# bodies, in bytes
BODY_BYTES: Final = 64 << 20  # of any frame
HELLO_BYTES: Final = 32 << 20
ENDING_BYTES: Final = 32 << 20
ERROR_BYTES: Final = 1 << 20
TIMES_BYTES: Final = 1 << 18
EVENT_BYTES: Final = 1 << 16
FRAMES_UNREAD: Final = 1 << 16  # complete frames that wait to be read

# play
REWARD: Final = 1e6  # largest magnitude of one reward
MATCH_NUMBER: Final = 2**32 - 2
SEED: Final = 2**53 - 1
LOG_CHARS: Final = 16 << 20  # of one match's record
FACTS: Final = 64  # fact names of one host; `name@seat` counts once for all seats
FACTS_OF_FLEET: Final = 256  # fact names of all hosts together; facts with other names are left out
FACT_CHARS: Final = 64
TIMES_FRAMES: Final = 64  # TIMES frames in one answer
TIMES_NS: Final = 1e15  # longest period of a TIMES frame: 11 days
UNREAD_BYTES: Final = 64 << 20  # frames that a host has not read from its stdin
EVENTS_UNTAKEN: Final = 1000  # events of one host that wait to be taken; further ones are left out

# texts of a host that are stored
MESSAGE_CHARS: Final = 2000  # of an ERROR
REASON_CHARS: Final = 200  # of the reason that a lost match is counted by
REASONS: Final = 20  # different reasons of one host; further ones are counted together

# clients of a policy server (docs/serving.md)
GREETING_BYTES: Final = 1 << 16  # a HELLO, the only frame that is read before the token was checked
ASK_ROWS: Final = 1 << 16  # rows of one ASK
CLIENT_ROWS: Final = 1 << 20  # row numbers of a client are below this
SERVED_ROWS: Final = 1 << 20  # rows of all clients of one policy
CLIENTS: Final = 1024  # connections at the same time
CLIENT_CHARS: Final = 64  # of the name that a client gives itself
TOKEN_CHARS: Final = 1024
WELCOME_BYTES: Final = 4 << 20
REFUSED_BYTES: Final = 1 << 14
REPORT_BYTES: Final = 4 << 20


def clipped(value: object, chars: int = REASON_CHARS) -> str:
    """Return `value` as text of at most `chars` characters, in which control characters are replaced by spaces."""
    text = str(value)
    text = text if len(text) <= chars else text[: chars - 3] + "..."
    return text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text)
