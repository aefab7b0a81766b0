"""What the author of a host is told: which rule of docs/host-protocol.md a complaint is about, and what to do. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    place: str  # in docs/host-protocol.md
    words: str
    topic: str = ""  # masks, numbers or endings: rules that have a line of their own


def advice_for(trouble: str) -> Advice | None:
    """By the first pattern that is in these words."""
    return next((advice for pattern, advice in _BY_PATTERN if re.search(pattern, trouble)), None)


_BY_PATTERN = [
    (
        r"cannot start",
        Advice("A conversation", "Is the program on the PATH and executable? Give the command as a shell has it."),
    ),
    (
        r"refused its options",
        Advice("ERROR", "Give it options it can play: --option name=value, once for each."),
    ),
    (
        r"is text, and belongs",
        Advice("Rule 8", "Something prints to stdout. Send it to stderr before any library is loaded."),
    ),
    (
        r"frame begins with",
        Advice("Frames", "Every frame begins with the bytes LU; is the length of the one before right?"),
    ),
    (r"announces \d+ bytes", Advice("Frames", "A body has at most 64 MiB; is the length little-endian?")),
    (r"has version|unknown kind", Advice("Frames", "Bytes 2 and 3 of a header are the version, 2, and the kind.")),
    (
        r"ended within a frame|within a frame, for",
        Advice("Frames", "Write whole frames and flush them; the header says how long the body is."),
    ),
    (
        r"empty mask",
        Advice("Rule 9", "Ask only seats that can choose; where one must pass, make passing an action.", "masks"),
    ),
    (
        r"not finite|expected a finite number",
        Advice("Rule 9", "Look for a division by zero or a NaN before it is sent; scale large rewards.", "numbers"),
    ),
    (
        r"is not what it should be",
        Advice("Frames", "The JSON of this frame lacks a field, or one has another type; NaN is no JSON."),
    ),
    (
        r"before HELLO|first frame is|HELLO|layout\.teams|has dtype|table '",
        Advice(
            "HELLO", "Answer CONFIGURE with one HELLO frame, then with ARRIVALS; compare its fields with the table."
        ),
    ),
    (r"no match ended", Advice("Rule 5", "Give matches a limit, and end those that reach it as truncated.", "endings")),
    (
        r"ENDING|scores|score|came twice|opened with",
        Advice(
            "ENDING",
            "An ENDING names the slot, number and seed its match was opened with, before the next one arrives.",
            "endings",
        ),
    ),
    (
        r"ARRIVALS body has",
        Advice("ARRIVALS", "Six columns, each padded to 8 bytes; a row of obs has the bytes that HELLO leads to."),
    ),
    (r"ARRIVALS without rows", Advice("Rule 3", "Send ARRIVALS with done=0 only when it has rows.")),
    (
        r"although all ACTIONS were answered",
        Advice("Rule 2", "Count what you owe: the opening, and one answer for each ACTIONS frame; when it is 0, wait."),
    ),
    (r"wrong `opens`", Advice("ARRIVALS", "opens is 1 at a seat's first decision in a match, else 0.")),
    (r"twice in one ARRIVALS|arrived again", Advice("Rule 4", "Ask a row once, then wait for its action.")),
    (r"another way", Advice("Rule 7", "Draw everything random from the match's seed, and let slots share no state.")),
    (
        r"no row ever came before",
        Advice("Rule 3", "Send ARRIVALS with done=0 when some matches are ready and others are not."),
    ),
    (
        r"unknown option",
        Advice("Rule 10", "Compare the options with those you know; answer others with ERROR of kind configuration."),
    ),
    (
        r"of the schedule",
        Advice("Rule 6", "With a schedule, play exactly its numbers with its seeds, then leave slots empty."),
    ),
    (
        r"was still there|expected 0",
        Advice(
            "A conversation",
            "STOP and the end of stdin mean: exit with status 0, whatever matches and threads there are.",
        ),
    ),
    (r"expected a failure", Advice("Rule 9", "Send ERROR of kind internal and exit with a status of 1 or more.")),
    (
        r"activities sum|buckets|told",
        Advice("TIMES", "Use one lap clock: every activity's time is since the lap before."),
    ),
    (
        r"sent nothing|read nothing|did not complete",
        Advice(
            "Rule 2", "Read stdin and flush stdout after every answer; is something waiting for more than it needs?"
        ),
    ),
    (
        r"it sent [A-Z]+, expected",
        Advice("Frames", "Send only kinds of a host, and TIMES only if it is asked for."),
    ),
    (r"matches in a row", Advice("ERROR", "Every match is lost; the host's own words say why.")),
    (
        r"reported an error|ended with|ended by",
        Advice("ERROR", "Its last words are the end of its stderr; run it alone to see all of them."),
    ),
]
