"""Makes observations of a player's view of a game at a decision: entities and options. Pure.

Entities are cards: the own hand, both battlefields, the stack, the newest cards of the graveyards and of exile, and
cards that only this decision shows. Nothing is read of the other player but what is public.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ludus.games.forge.daemon_choices import KINDS, MOST_OPTIONS, Question
from ludus.games.forge.daemon_lines import Card, GameState, PlayerState
from ludus.spec import GameSpec, ObsSpec

SCHEMA = 1
MOST_CARDS = 64
OLD_CARDS = 8  # of a graveyard or of exile
NAMES, TEXTS = 4096, 1024  # rows of the tables; names are hashed into them, 0 is none
ZONES = ("hand", "battlefield", "stack", "graveyard", "exile", "shown")
TYPES = ("Creature", "Land", "Instant", "Sorcery", "Artifact", "Enchantment", "Planeswalker", "Legendary")
COLOURS = "WUBRG"
MANA = ("white", "blue", "black", "red", "green", "colorless")
WORDS = (
    *("flying", "first strike", "double strike", "trample", "haste", "vigilance", "deathtouch", "lifelink"),
    *("reach", "defender", "menace", "hexproof"),
)
PHASES = (
    *("UNTAP", "UPKEEP", "DRAW", "MAIN1", "COMBAT_BEGIN", "COMBAT_DECLARE_ATTACKERS", "COMBAT_DECLARE_BLOCKERS"),
    *("COMBAT_FIRST_STRIKE_DAMAGE", "COMBAT_DAMAGE", "COMBAT_END", "MAIN2", "END_OF_TURN", "CLEANUP"),
)
DECISIONS = (
    *("choose_action", "declare_attackers", "declare_blockers", "choose_ability", "play_trigger"),
    *("play_from_effect", "confirm_action", "choose_cards", "choose_entity", "announce_value"),
)
PAID = ("cmc", *COLOURS)
BODY = ("power", "toughness", "tapped", "sick", "damage", "loyalty", "counters", "attacking", "blocking")
CARD = (*ZONES, "own", *TYPES, *PAID, *BODY, *WORDS)
PLAYER = ("own", "life", "poison", "hand", "library", "graveyard", "lands_played", "land_plays", *MANA)
STATE = (*PHASES, *DECISIONS, "turn", "own_turn", "priority", "chosen", "least", "most")
DEMONSTRATED = 2  # bytes behind the leaves: 1 + the action that Forge's AI chose, for scripted:forge_ai
_FIXED = 127 / 64  # the largest number of a fixed8 leaf


def spec_of() -> GameSpec:
    leaves = {
        "state": ("fixed8", (len(STATE),)),
        "players": ("fixed8", (2, len(PLAYER))),
        "card": ("fixed8", (MOST_CARDS, len(CARD))),
        "name": ("uint16", (MOST_CARDS,)),
        "blocks": ("uint8", (MOST_CARDS,)),
        "option_kind": ("uint8", (MOST_OPTIONS,)),
        "option_card": ("uint8", (MOST_OPTIONS,)),
        "option_other": ("uint8", (MOST_OPTIONS,)),
        "option_text": ("uint16", (MOST_OPTIONS,)),
        "option_number": ("fixed8", (MOST_OPTIONS, 1)),
    }
    layout = {
        "entities": {"cards": ["card", "name", "blocks"], "players": ["players"]},
        "options": [name for name in leaves if name.startswith("option_")],
        "refers": {"blocks": "cards", "option_card": "cards", "option_other": "cards"},
        "ids": {"option_kind": "kind", "option_text": "text"},
        "kinds": list(KINDS),
        "card": list(CARD),
        "player": list(PLAYER),
        "state": list(STATE),
    }
    sizes = {"name": NAMES, "text": TEXTS, "kind": len(KINDS)}
    tables = {name: np.zeros((rows, 1), np.float32) for name, rows in sizes.items()}
    obs = ObsSpec.pack(leaves)
    last = obs.leaves[-1]
    assert obs.nbytes - last.offset - last.nbytes >= DEMONSTRATED, "no room behind the leaves"
    return GameSpec("forge-daemon", 2, MOST_OPTIONS, obs, SCHEMA, layout, tables)


def hashed(text: str, rows: int) -> int:
    """Return the row of a table for a name, from 1 on; 0 for no name. Two names may share one."""
    return 1 + zlib.crc32(text.encode()) % (rows - 1) if text else 0


def demonstrate(row: NDArray[np.uint8], action: int) -> None:
    """Note behind the leaves of a row which action Forge's AI chose."""
    row[-DEMONSTRATED:] = divmod(1 + action, 256)


def demonstrated(rows: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the actions [n] that Forge's AI chose in rows [n, nbytes]; -1 where it did not choose."""
    high, low = rows[:, -DEMONSTRATED:].astype(np.int32).T
    actions: NDArray[np.int32] = high * 256 + low - 1
    return actions


@dataclass(frozen=True, slots=True)
class _View:
    """A card in a zone that the player sees."""

    card: Card
    zone: str
    own: bool


def write(spec: GameSpec, row: NDArray[np.uint8], question: Question, viewer: str) -> int:
    """Write what the player named `viewer` sees into a row of zeros [nbytes]. Return the number of visible cards for
    which there was no room."""
    state = question.decision.game_state
    visible = list(_cards(question, state, viewer))
    cards = visible[:MOST_CARDS]
    places = {view.card.id: place for place, view in reversed(list(enumerate(cards, 1))) if view.card.id >= 0}
    combat = [] if state.combat is None else state.combat.attackers
    blocks = {blocker.card_id: attacker.card_id for attacker in combat for blocker in attacker.blocked_by}
    attacking = {attacker.card_id for attacker in combat}
    numbers = np.zeros((MOST_CARDS, len(CARD)))
    for place, view in enumerate(cards):
        numbers[place] = _numbers(view, view.card.id in attacking, view.card.id in blocks)
    _write(spec, row, "card", numbers)
    _fill(spec, row, "name", [hashed(view.card.name, NAMES) for view in cards])
    _fill(spec, row, "blocks", [places.get(blocks.get(view.card.id, -1), 0) for view in cards])
    _write(spec, row, "players", [_player(player, viewer) for player in _own_first(state, viewer)])
    _write(spec, row, "state", _state(question, state, viewer))
    options = question.options
    _fill(spec, row, "option_kind", [KINDS.index(each.kind) for each in options])
    _fill(spec, row, "option_card", [places.get(each.card, 0) for each in options])
    _fill(spec, row, "option_other", [places.get(each.other, 0) for each in options])
    _fill(spec, row, "option_text", [hashed(each.text or each.name, TEXTS) for each in options])
    spec.obs.leaf(row, "option_number")[: len(options), 0] = [min(each.number * 4, 127) for each in options]
    return len(visible) - len(cards)


def _cards(question: Question, state: GameState, viewer: str) -> Iterator[_View]:
    players = _own_first(state, viewer)
    if players and players[0].name == viewer:
        yield from (_View(card, "hand", True) for card in players[0].hand)
    for player in players:
        yield from (_View(card, "battlefield", player.name == viewer) for card in player.battlefield)
    for spell in state.stack:
        card = Card(spell.source_card_id, spell.source_card)
        yield _View(card, "stack", spell.controller == viewer)
    visible = {card.id for player in players for zone in _zones(player) for card in zone}
    for option in question.options:
        if option.name and option.card not in visible:
            visible.add(option.card)
            yield _View(Card(option.card, option.name), "shown", True)
    for player in players:
        yield from (_View(card, "graveyard", player.name == viewer) for card in player.graveyard[-OLD_CARDS:])
        yield from (_View(card, "exile", player.name == viewer) for card in player.exile[-OLD_CARDS:])


def _zones(player: PlayerState) -> Sequence[Sequence[Card]]:
    return player.hand, player.battlefield, player.graveyard[-OLD_CARDS:], player.exile[-OLD_CARDS:]


def _own_first(state: GameState, viewer: str) -> list[PlayerState]:
    return sorted(state.players, key=lambda player: player.name != viewer)


def _numbers(view: _View, attacking: bool, blocking: bool) -> list[float]:
    card, words = view.card, " ".join(view.card.keywords).lower()
    cost = card.mana_cost.upper()
    return [
        *(float(zone == view.zone) for zone in ZONES),
        float(view.own),
        *(float(kind in card.types) for kind in TYPES),
        card.cmc / 4,
        *(cost.count(colour) / 2 for colour in COLOURS),
        card.power / 4,
        card.toughness / 4,
        float(card.tapped),
        float(card.summoning_sick),
        card.damage / 4,
        card.loyalty / 4,
        _counters(card.counters) / 4,
        float(attacking),
        float(blocking),
        *(float(word in words) for word in WORDS),
    ]


def _counters(counters: object) -> float:
    """Return how many counters a card has, from a map or from the text of one."""
    if isinstance(counters, dict):
        return float(sum(each for each in counters.values() if isinstance(each, int)))
    return float(sum(int(each) for each in re.findall(r"[=:]\s*(\d{1,4})", str(counters or ""))))


def _player(player: PlayerState, viewer: str) -> list[float]:
    return [
        float(player.name == viewer),
        player.life / 20,
        player.poison / 10,
        player.hand_size / 7,
        player.library_size / 60,
        len(player.graveyard) / 30,
        player.lands_played_this_turn,
        player.max_land_plays,
        *(player.mana_pool.get(colour, 0) / 4 for colour in MANA),
    ]


def _state(question: Question, state: GameState, viewer: str) -> list[float]:
    decision = question.decision
    return [
        *(float(phase == decision.phase.upper()) for phase in PHASES),
        *(float(kind == decision.decision_type) for kind in DECISIONS),
        decision.turn / 16,
        float(state.active_player == viewer),
        float(state.priority_player == viewer),
        sum(1 for token in question.tokens if token) / 4,
        decision.min / 4,
        (decision.max or 0) / 4,
    ]


def _write(spec: GameSpec, row: NDArray[np.uint8], name: str, values: object) -> None:
    spec.obs.write(row, name, np.clip(np.asarray(values, np.float64), -2.0, _FIXED))


def _fill(spec: GameSpec, row: NDArray[np.uint8], name: str, values: Sequence[int]) -> None:
    spec.obs.leaf(row, name)[: len(values)] = values
