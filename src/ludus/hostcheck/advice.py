"""Advice for the author of a host about each fault: the rule in docs/host-protocol.md, and what to do. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ludus.errors import HostFault


@dataclass(frozen=True, slots=True)
class Advice:
    place: str  # a heading or rule of docs/host-protocol.md
    words: str
    topic: str = ""  # masks, numbers or endings: rules that have a line of their own in the report


ADVICE: Mapping[HostFault, Advice] = {
    HostFault.CANNOT_START: Advice(
        "A conversation", "Is the program on the PATH and executable? Give the command as in a shell."
    ),
    HostFault.REFUSED: Advice("ERROR", "Give it valid options: --option name=value, once for each."),
    HostFault.HOST_ENDED: Advice("ERROR", "Run the host alone to see all of its stderr."),
    HostFault.SILENT: Advice(
        "Rule 2", "Read stdin and flush stdout after every answer; does it wait for more bytes than a frame has?"
    ),
    HostFault.MATCHES_LOST: Advice("ERROR", "The host fails in every match; its error message says why."),
    HostFault.TEXT_ON_STDOUT: Advice(
        "Rule 8", "Something prints to stdout. Send it to stderr before any library is loaded."
    ),
    HostFault.FRAME_START: Advice(
        "Frames", "Every frame begins with the bytes LU; is the length in the header before it right?"
    ),
    HostFault.FRAME_HEADER: Advice("Frames", "Bytes 2 and 3 of a header are the version, 2, and the kind."),
    HostFault.FRAME_LENGTH: Advice("Frames", "A body has at most 64 MiB; is the length little-endian?"),
    HostFault.FRAME_CUT: Advice("Frames", "Write whole frames and flush them; the header says how long the body is."),
    HostFault.FRAME_FLOOD: Advice("Rule 2", "Send one answer for each ACTIONS frame, then wait for the next one."),
    HostFault.WRONG_FRAME: Advice("Frames", "Send only frame kinds of hosts, and TIMES only if CONFIGURE has times_s."),
    HostFault.UNREADABLE: Advice(
        "Frames", "The JSON of this frame lacks a field, or a field has the wrong type; JSON has no NaN."
    ),
    HostFault.BAD_HELLO: Advice(
        "HELLO", "Answer CONFIGURE with one HELLO frame, then with ARRIVALS; compare its fields with the table."
    ),
    HostFault.BAD_ARRIVALS: Advice(
        "ARRIVALS", "Six columns, each padded to 8 bytes; a row of obs has the size of all leaves in HELLO."
    ),
    HostFault.EMPTY_ARRIVALS: Advice("Rule 3", "Send ARRIVALS with done=0 only when it has rows."),
    HostFault.NOT_OWED: Advice(
        "Rule 2", "Send one answer for the opening and one for each ACTIONS frame, then nothing until the next."
    ),
    HostFault.WRONG_OPENS: Advice("ARRIVALS", "opens is 1 at a seat's first decision in a match, else 0."),
    HostFault.ASKED_TWICE: Advice("Rule 4", "Ask a row once, then wait for its action."),
    HostFault.EMPTY_MASK: Advice(
        "Rule 9", "Ask only seats that can choose; where one must pass, make passing an action.", "masks"
    ),
    HostFault.NOT_FINITE: Advice(
        "Rule 9", "Look for a division by zero or a NaN before it is sent; scale large rewards.", "numbers"
    ),
    HostFault.BAD_ENDING: Advice(
        "ENDING",
        "An ENDING names the slot, number and seed its match was opened with, before the next one arrives.",
        "endings",
    ),
    HostFault.NO_ENDING: Advice("Rule 5", "Give matches a limit, and end those that reach it as truncated.", "endings"),
    HostFault.BAD_TIMES: Advice("TIMES", "Use one lap clock: count the time since the previous lap for one activity."),
    HostFault.OFF_SCHEDULE: Advice(
        "Rule 6", "With a schedule, play exactly its numbers with its seeds, then leave slots empty."
    ),
    HostFault.NOT_REPEATED: Advice(
        "Rule 7", "Draw everything random from the match's seed, and let slots share no state."
    ),
    HostFault.ROWS_HELD_BACK: Advice(
        "Rule 3", "Send ARRIVALS with done=0 when some matches are ready and others are not."
    ),
    HostFault.UNKNOWN_OPTION: Advice(
        "Rule 10", "Compare the options with those you know; answer others with ERROR of kind configuration."
    ),
    HostFault.DID_NOT_STOP: Advice(
        "A conversation", "Exit with status 0 at STOP and at the end of stdin, even if matches or threads still run."
    ),
    HostFault.DID_NOT_FAIL: Advice("Rule 9", "Send ERROR of kind internal and exit with a status of 1 or more."),
}
