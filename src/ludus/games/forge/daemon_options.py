"""Options of the game `forge-daemon`."""

from __future__ import annotations

import random
import shlex
from typing import Annotated, Literal

from msgspec import Meta, Struct

from ludus.errors import ConfigError

MOST_GAMES = 10  # that one daemon runs at once
Seconds = Annotated[int, Meta(ge=1, le=86_400)]


class DaemonOptions(Struct, frozen=True, forbid_unknown_fields=True):
    daemons: str | tuple[str, ...] = ()  # addresses HOST:PORT, as a list or separated by commas; empty: servers.count
    program: str | tuple[str, ...] = ()  # starts a daemon; `daemon -p PORT` is appended: java -jar /path/forge.jar
    folder: str = ""  # working folder of the program: that with Forge's res/; empty: the current folder
    decks: tuple[str, ...] = ()  # as the daemon finds them: names or paths without spaces
    matchup: Literal["pool", "mirror"] = "pool"  # pool: a deck for each seat; mirror: the same for both
    observe: bool = False  # Forge's AI plays both seats, and the policy must be scripted:forge_ai
    persistent: bool = False  # several games over one connection; only with a daemon that announces it
    seeded: bool = False  # send the seed of the match; it means nothing while a daemon runs several games
    game_timeout_s: Seconds = 120
    decision_timeout_s: Seconds = 5
    silent_s: Seconds = 40  # a daemon that sends nothing for this long has lost the match


def addresses(options: DaemonOptions) -> tuple[tuple[str, int], ...]:
    """Return the host and port of each daemon. Raises ConfigError."""
    texts = options.daemons.split(",") if isinstance(options.daemons, str) else options.daemons
    pairs = []
    for text in filter(None, (text.strip() for text in texts)):
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise ConfigError(f"options.daemons: {text!r} is no address; expected HOST:PORT, as in 127.0.0.1:17171")
        pairs.append((host.strip("[]"), int(port)))
    return tuple(pairs)


def most_matches(options: DaemonOptions, servers: int) -> int:
    """Return how many games run at once on the daemons that the options name or, if they name none, on as many as
    will be started. Raises ConfigError."""
    return MOST_GAMES * (len(set(addresses(options))) or servers)


def program(options: DaemonOptions) -> tuple[str, ...]:
    """Return the command that starts a daemon, without its port. Raises ConfigError if there is none."""
    try:
        words = tuple(shlex.split(options.program)) if isinstance(options.program, str) else options.program
    except ValueError as error:
        raise ConfigError(f"options.program: {options.program!r} cannot be split into words: {error}") from error
    if not words:
        raise ConfigError(
            "options.program: names no program that starts a daemon; give it, as in "
            "--set 'options.program=java -Xmx2g -jar /path/forge.jar', or name running daemons: --set "
            "options.daemons=127.0.0.1:17171"
        )
    return words


def check(options: DaemonOptions) -> None:
    """Check what the types cannot express. Raises ConfigError with the option and what is accepted."""
    addresses(options)
    if not options.decks:
        raise ConfigError("options.decks: names no deck; give at least one, as in decks: [red.dck, green.dck]")
    for deck in options.decks:
        if not deck or any(each.isspace() or not each.isprintable() for each in deck) or deck.startswith("-"):
            raise ConfigError(f"options.decks: {deck!r} cannot be sent; a daemon takes paths without spaces only")


def new_game(options: DaemonOptions, seed: int) -> str:
    """Return the line that begins a game. The seed chooses the decks."""
    chance = random.Random(seed)
    first = chance.choice(options.decks)
    second = first if options.matchup == "mirror" else chance.choice(options.decks)
    mode = "-o" if options.observe else "-i"
    times = f"-c {options.game_timeout_s} -t {options.decision_timeout_s}"
    return f"NEWGAME {first} {second} {mode} {times}" + (f" -s {seed % (1 << 31)}" if options.seeded else "")
