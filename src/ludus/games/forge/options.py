"""Options of Magic on Forge."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ludus.errors import ConfigError

Decks = str | tuple[str, ...]
Mib = Annotated[int, Meta(ge=0, le=1 << 20)]
Seconds = Annotated[float, Meta(gt=0.0)]


class ForgeOptions(Struct, frozen=True, forbid_unknown_fields=True):
    forge: str = ""  # folder of a Forge release, 2.0.13 or later; empty: the environment variable FORGE_HOME
    decks: Decks = ""  # deck files (.dck) and folders with such files; empty: two simple decks of ludus
    pairing: Literal["mirror", "pool", "gauntlet"] = "mirror"  # mirror: both seats play one deck; pool: one each, drawn
    opposing: Decks = ""  # pairing gauntlet: the decks of seat 1; seat 0 plays those of `decks`
    known_cards: Decks = (
        ""  # further decks whose cards get rows in the table of cards, for checkpoints to be used with them
    )
    format: Literal["constructed", "limited", "pauper", "any"] = (
        "constructed"  # Forge checks decks for it; any: nothing
    )
    forge_ai: bool = True  # a policy may leave its seat to Forge's AI (the scripted policy forge_ai does)
    ai_profile: str = "Default"  # profile of Forge's AI: Default, Cautious, Reckless ...
    max_turns: Annotated[int, Meta(ge=1, le=10_000)] = 40  # turns of both players: a limit of the match
    max_decisions: Annotated[int, Meta(ge=1, le=1_000_000)] = 3_000  # of both players; likewise
    at_limit: Literal["truncate", "life"] = (
        "truncate"  # life: whoever has more life wins, as when time is up in tournaments
    )
    shaping: Annotated[float, Meta(ge=0.0, le=10.0)] = 0.0  # weight of rewards for life, cards and creatures gained
    java: str = ""  # the Java program, 17 or later, of a JDK; empty: the one on the PATH, or of JAVA_HOME
    jvm: Literal["lean", "default", "parallel"] = "default"  # flags of the Java process (docs/games/forge.md)
    heap_mib: Mib = 0  # most memory of one Java process for objects; 0: from the free memory and the cores
    recycle_mib: Mib = 0  # heap in use at which a process is replaced; 0: 85% of the heap
    deadline_s: Seconds = 20.0  # a match that needs longer for one decision is voided; below fleet.reply_deadline_s
    hung_matches: Annotated[int, Meta(ge=1)] = 3  # voided so; then the Java process is replaced
    profile: Literal["", "jfr"] = ""  # jfr: record each Java process with Java Flight Recorder
    profile_folder: str = "."  # where recordings go: forge-PID.jfr, and the hottest methods in forge-PID.txt


def check(options: ForgeOptions) -> None:
    """Check rules that the types cannot express. Raises ConfigError."""
    if (options.pairing == "gauntlet") != bool(options.opposing):
        raise ConfigError(
            f"options.opposing: is {options.opposing!r} with options.pairing: {options.pairing}; pairing gauntlet "
            "needs decks of opponents, and no other pairing has any"
        )
