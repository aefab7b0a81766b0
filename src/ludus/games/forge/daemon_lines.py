"""The lines that a Forge daemon sends, as values. Pure.

A daemon sends lines of text. Lines that begin with `DECISION:` carry JSON; its hand of the other player is dropped
here, so that nothing behind this module has it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from ludus import limits
from ludus.errors import LudusError

MOST_BYTES = 1 << 20  # of a line; decisions have some 15 KB


class DaemonError(LudusError):
    """A daemon broke its protocol, refused a game, or reported that one failed. The match is lost."""


class Card(Struct):
    id: int = -1
    name: str = ""
    mana_cost: str = ""
    cmc: int = 0
    types: str = ""
    power: int = 0
    toughness: int = 0
    keywords: list[str] = []
    tapped: bool = False
    summoning_sick: bool = False
    damage: int = 0
    loyalty: int = 0
    counters: Any = None  # Any: a text or a map, by the daemon's version; only whether there are any counts


class PlayerState(Struct):
    name: str
    life: int = 0
    poison: int = 0
    lands_played_this_turn: int = 0
    max_land_plays: int = 1
    hand_size: int = 0
    hand: list[Card] = []
    library_size: int = 0
    graveyard: list[Card] = []
    battlefield: list[Card] = []
    exile: list[Card] = []
    mana_pool: dict[str, int] = {}


class Spell(Struct):
    """An entry of the stack."""

    id: int = -1
    description: str = ""
    controller: str = ""
    source_card: str = ""
    source_card_id: int = -1


class Blocker(Struct):
    card_id: int = -1


class Attacker(Struct):
    card_id: int = -1
    blocked_by: list[Blocker] = []


class Combat(Struct):
    attackers: list[Attacker] = []


class GameState(Struct):
    players: list[PlayerState] = []
    active_player: str = ""
    priority_player: str = ""
    stack: list[Spell] = []
    combat: Combat | None = None


class Item(Struct):
    """Something to choose: an action, an ability, a card, an attacker, a blocker or an entity."""

    index: int = 0
    card_id: int = -1
    name: str = ""
    description: str = ""
    mana_cost: str = ""
    is_land: bool = False


class Decision(Struct):
    decision_type: str
    player: str
    game_state: GameState
    decision_id: int = 0
    turn: int = 0
    phase: str = ""
    actions: list[Item] = []
    attackers: list[Item] = []
    blockers: list[Item] = []
    abilities: list[Item] = []
    cards: list[Item | str] = []  # texts only in `reveal`
    entities: list[Item] = []
    min: int = 0
    max: int | None = None
    optional: bool = False
    ai_choice: Any = msgspec.UNSET  # Any: a number, a text or a list, by the type of the decision


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """`ERROR: ...`: a game that was not begun, or a reply that was not accepted."""

    text: str


@dataclass(frozen=True, slots=True)
class Failure:
    """`GAME_TIMEOUT: ...` or `GAME_ERROR: ...`. A result follows."""

    timeout: bool
    text: str


@dataclass(frozen=True, slots=True)
class GameResult:
    """`GAME_RESULT: ...`, the last line of a game."""

    winner: str  # empty: a draw
    ms: int


@dataclass(frozen=True, slots=True)
class Note:
    """A line that needs no answer: SEED, GAME_START, or one that is not known."""

    text: str
    is_known: bool


Line = Decision | RefusedLine | Failure | GameResult | Note
_DECODER = msgspec.json.Decoder(Decision)
_RESULT = re.compile(r"(?:(Draw)|(.{1,200}) won) in (\d{1,12})ms")


def read(line: bytes) -> Line:
    """Return what a line says. Raises DaemonError for a decision or a result that cannot be read."""
    if line.startswith(b"DECISION:"):
        return _decision(line.removeprefix(b"DECISION:"))
    text = line.decode("utf-8", "replace").strip()
    kind, _, rest = text.partition(": ")
    match kind:
        case "ERROR":
            return RefusedLine(limits.clipped(rest))
        case "GAME_TIMEOUT" | "GAME_ERROR":
            return Failure(kind == "GAME_TIMEOUT", limits.clipped(rest))
        case "GAME_RESULT":
            return _result(rest)
        case _:
            return Note(limits.clipped(text), kind in ("SEED", "GAME_START"))


def announces_persistence(status: str) -> bool:
    """Return whether the answer to STATUS says that a connection may serve several games."""
    return any(line.strip().lower() == "persistent: true" for line in status.splitlines())


def _decision(data: bytes) -> Decision:
    try:
        decision = _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DaemonError(f"sent a decision that cannot be read: {limits.clipped(error)}") from error
    names = [player.name for player in decision.game_state.players]
    if len(names) != 2 or len(set(names)) != 2 or decision.player not in names:
        players = limits.clipped(names)
        raise DaemonError(f"sent a decision of {limits.clipped(decision.player)!r} in a game of {players}")
    for player in decision.game_state.players:
        if player.name != decision.player:
            player.hand = []
    return decision


def _result(text: str) -> GameResult:
    parts = _RESULT.fullmatch(text)
    if parts is None:
        raise DaemonError(f"sent the result {limits.clipped(text)!r}, expected a winner or Draw, and a time")
    return GameResult(parts[2] or "", int(parts[3]))
