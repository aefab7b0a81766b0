"""Entry point of Magic on Forge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ludus.games.forge import decks, installation, jvm
from ludus.games.forge.compiled import classes_of
from ludus.games.forge.options import ForgeOptions, check
from ludus.games.forge.scripted import CurvePolicy, ForgeAiPolicy, RandomOptionPolicy
from ludus.games.registry import Game, HostFootprint, Progress
from ludus.processes.command import HostCommand


def command(options: ForgeOptions) -> HostCommand:
    """Return the command that starts a host, which is compiled first if need be. Raises ConfigError, and SetupError if
    Forge or Java is missing."""
    check(options)
    host_options = _for_the_host(options)  # a deck that is missing is said before anything is compiled
    forge = installation.find_forge(options.forge)
    java = installation.find_java(options.java)
    line = installation.command_line(java, jvm.flags(options), classes_of(forge, java), forge)
    return replace(line, options={"forge": str(forge.folder), **host_options})


def prepare(options: ForgeOptions, progress: Progress) -> None:
    """Find Forge and Java and compile the host, before a run starts."""
    progress("compiling the host", 0.0)
    command(options)


def _for_the_host(options: ForgeOptions) -> dict[str, Any]:  # Any: strings and numbers
    def lines(option: str, paths: list[Path]) -> str:
        return "\n".join(map(str, paths))

    return {
        "decks": lines("decks", decks.files("decks", options.decks) or decks.simple()),
        "opposing": lines("opposing", decks.files("opposing", options.opposing)),
        "known_cards": lines("known_cards", decks.files("known_cards", options.known_cards)),
        "pairing": options.pairing,
        "format": options.format,
        "forge_ai": options.forge_ai,
        "ai_profile": options.ai_profile,
        "max_turns": options.max_turns,
        "max_decisions": options.max_decisions,
        "at_limit": options.at_limit,
        "shaping": options.shaping,
        "recycle_mib": options.recycle_mib,
        "deadline_s": options.deadline_s,
        "hung_matches": options.hung_matches,
        "profile": str(Path(options.profile_folder).expanduser().absolute()) if options.profile else "",
    }


game = Game(
    name="forge",
    summary="Magic: The Gathering on an installed Forge, with all of its cards; decks are files",
    options=ForgeOptions,
    command=command,
    scripted={"random": RandomOptionPolicy, "forge_ai": ForgeAiPolicy, "curve": CurvePolicy},
    net="mlp",
    presets=Path(__file__).parent / "presets",
    local=frozenset({"forge", "java", "heap_mib", "profile", "profile_folder"}),
    prepare=prepare,
    memory=HostFootprint(host_mib=900, match_mib=12, row_bytes=4096),
    checks="ludus.games.forge.checks:checks",
)
