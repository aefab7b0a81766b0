"""A daemon's decisions as choices from lists of options, and the replies that they make. Pure.

A decision for which Forge wants several things at once is asked in several steps: each attacker, each blocker, each
card of a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from ludus import limits
from ludus.games.forge.daemon_lines import DaemonError, Decision, Item

KINDS = (
    *("none", "pass", "land", "spell", "attack", "stay", "block", "unblocked"),
    *("ability", "yes", "no", "card", "done", "entity", "nobody", "number"),
)
MOST_OPTIONS = 48
HIGHEST = 20  # number that can be announced, unless the daemon names a maximum
PASS = "-1"
SILENT = frozenset({"reveal"})  # decisions that take no reply


@dataclass(frozen=True, slots=True)
class Option:
    kind: str  # of KINDS
    token: str  # its part of the reply; empty: none
    card: int = -1  # id of the card that it is about
    other: int = -1  # id of the attacker that is blocked
    number: int = 0
    name: str = ""  # of a card that is in no zone that the player sees
    text: str = ""


@dataclass(slots=True)
class Question:
    """A decision while it is answered. `options` are those of the current step, at most MOST_OPTIONS."""

    decision: Decision
    step: Callable[[Sequence[str]], Sequence[Option]]  # (tokens of the steps before) -> options; empty: complete
    tokens: list[str] = field(default_factory=list)  # of every step before
    options: Sequence[Option] = ()
    options_cut: int = 0  # of the current step: further options that the net has no room for

    def __post_init__(self) -> None:
        self._ask()

    @property
    def complete(self) -> bool:
        return not self.options

    @property
    def reply(self) -> str:
        return ",".join(token for token in self.tokens if token)

    def choose(self, option: int) -> None:
        """Answer the current step."""
        self.tokens.append(self.options[option].token)
        self._ask()

    def seen_by(self, viewer: str) -> Question:
        """Return the question without its options and without the hand of the player who was asked, for another."""
        if viewer == self.decision.player:
            return self
        state = self.decision.game_state
        players = [msgspec.structs.replace(player, hand=[]) for player in state.players]
        hidden = msgspec.structs.replace(self.decision, game_state=msgspec.structs.replace(state, players=players))
        return Question(hidden, lambda tokens: ())

    def demonstrated(self) -> int | None:
        """Return the option of this step that Forge's AI chose. None if its choice is not among them."""
        choice = _tokens(self.decision.ai_choice)
        for index, option in enumerate(self.options):
            if option.token in choice and option.token not in self.tokens:
                return index
        if set(choice) - set(self.tokens) - {PASS} and len(self.options) and self.options[0].kind not in _EACH:
            return None
        return next((index for index, option in enumerate(self.options) if option.token in ("", PASS)), None)

    def _ask(self) -> None:
        options = self.step(self.tokens)
        self.options = options[-MOST_OPTIONS:]
        offered = _most_numbers(self.decision) if options and options[0].kind == "number" else len(options)
        self.options_cut = offered - len(self.options)


_EACH = ("attack", "block", "unblocked")  # steps that ask for one creature, which the AI's choice may leave out


def question(decision: Decision) -> Question | None:
    """Return the question of a decision; None if it takes no reply. Raises DaemonError for an unknown type."""
    kind = decision.decision_type
    if kind in SILENT:
        return None
    steps = _STEPS.get(kind)
    if steps is None:
        types = ", ".join([*_STEPS, *SILENT])
        raise DaemonError(f"asked for {limits.clipped(kind)!r}, which is no type of decision; known are {types}")
    return Question(decision, steps(decision))


Step = Callable[[Sequence[str]], Sequence[Option]]


def _once(options: Sequence[Option]) -> Step:
    return lambda tokens: () if tokens else options


def _each(steps: Sequence[Sequence[Option]]) -> Step:
    return lambda tokens: steps[len(tokens)] if len(tokens) < len(steps) else ()


def _action(decision: Decision) -> Step:
    hand = {card.id for player in decision.game_state.players for card in player.hand}
    options = [
        Option(
            "land" if item.is_land else "spell" if item.card_id in hand else "ability",
            str(item.index),
            item.card_id,
            text=item.description,
        )
        for item in decision.actions
        if item.index >= 0
    ]
    return _once([*options, Option("pass", PASS)])


def _attackers(decision: Decision) -> Step:
    return _each(
        [
            (Option("attack", str(each.index), each.card_id), Option("stay", "", each.card_id))
            for each in decision.attackers
        ]
    )


def _blockers(decision: Decision) -> Step:
    return _each(
        [
            [
                *(
                    Option("block", f"{blocker.index}:{attacker.index}", blocker.card_id, attacker.card_id)
                    for attacker in decision.attackers
                ),
                Option("unblocked", "", blocker.card_id),
            ]
            for blocker in decision.blockers
        ]
    )


def _ability(decision: Decision) -> Step:
    return _once([Option("ability", str(each.index), text=each.description) for each in decision.abilities])


def _yes_or_no(decision: Decision) -> Step:
    return _once([Option("yes", "y", text=decision.decision_type), Option("no", "n", text=decision.decision_type)])


def _entity(decision: Decision) -> Step:
    options = [Option("entity", str(each.index), each.card_id, name=each.name) for each in decision.entities]
    return _once([*options, Option("nobody", PASS)] if decision.optional or not options else options)


def _number(decision: Decision) -> Step:
    least = max(decision.min, 0)
    numbers = range(least, least + min(_most_numbers(decision), MOST_OPTIONS))
    return _once([Option("number", str(number), number=number) for number in numbers])


def _most_numbers(decision: Decision) -> int:
    """Return how many numbers may be announced."""
    most = HIGHEST if decision.max is None else decision.max
    return max(most, decision.min, 0) + 1 - max(decision.min, 0)


def _cards(decision: Decision) -> Step:
    cards = [each for each in decision.cards if isinstance(each, Item)]
    most = len(cards) if decision.max is None else min(decision.max, len(cards))
    least = 0 if decision.optional else min(max(decision.min, 0), most)

    def step(tokens: Sequence[str]) -> Sequence[Option]:
        if len(tokens) >= most or "" in tokens:
            return ()
        options = [
            Option("card", str(card.index), card.card_id, name=card.name)
            for card in cards
            if str(card.index) not in tokens
        ]
        return [*options, Option("done", "")] if len(tokens) >= least else options

    return step


_STEPS: dict[str, Callable[[Decision], Step]] = {
    "choose_action": _action,
    "declare_attackers": _attackers,
    "declare_blockers": _blockers,
    "choose_ability": _ability,
    "play_trigger": _yes_or_no,
    "play_from_effect": _yes_or_no,
    "confirm_action": _yes_or_no,
    "choose_cards": _cards,
    "choose_entity": _entity,
    "announce_value": _number,
}


def _tokens(choice: object) -> list[str]:
    """Return the parts of an AI's choice as a reply would have them."""
    match choice:
        case bool():
            return ["y" if choice else "n"]
        case dict():
            return _tokens(choice.get("index", choice.get("indices", "")))
        case list():
            return [token for each in choice for token in _tokens(each)]
        case None | msgspec.UNSET:
            return []
        case _:
            words = [word.strip() for word in str(choice).strip("[] ").split(",")]
            names = {"yes": "y", "true": "y", "no": "n", "false": "n", "pass": PASS, "none": ""}
            return [token for word in words if (token := names.get(word.lower(), word))]
