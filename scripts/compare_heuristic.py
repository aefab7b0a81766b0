"""Compare the scripted heuristic with poke-env's SimpleHeuristicsPlayer on the same decisions.

Plays real matches, feeds every request and line to poke-env's own battle objects, and counts how often both choose the
same action. Two rules of poke-env 0.16.1 never apply because of bugs: set-up moves (it compares a target with the text
"self") and terastallizing in random battles (it does not read its own tera types from requests). The comparison is made
with both bugs fixed, and as published. Forced switches in doubles are left out, because poke-env makes them at random.
Most differences there come from spread moves, which count for both foes here; poke-env computes that without using it.

Example: python scripts/compare_heuristic.py --format gen9randombattle --matches 20
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from poke_env.battle import Battle, DoubleBattle, Move, Pokemon, PokemonType
from poke_env.battle.target import Target
from poke_env.player import SimpleHeuristicsPlayer
from poke_env.player.battle_order import BattleOrder, DoubleBattleOrder, SingleBattleOrder
from poke_env.player.player import Player

from ludus.config.settings import FleetConfig
from ludus.evaluation import arena
from ludus.games import registry
from ludus.games.showdown.game import ShowdownOptions
from ludus.games.showdown.scripted import POLICIES
from ludus.games.showdown.scripted.actions import MOVES, ActionMap
from ludus.processes.command import HostCommand
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices, Policy

TRACER = Path(__file__).parent / "trace_requests.js"


@dataclass(frozen=True)
class SlotChoice:
    """The choice of one slot: a move's id or a Pokemon's name, with its gimmick and target."""

    what: str
    gimmick: str = ""
    target: int = 0


class Recorder:
    """A policy that records its actions, by seat and in order."""

    def __init__(self, policy: Policy, spec: GameSpec) -> None:
        self.policy, self.spec = policy, spec
        self.actions: dict[tuple[int, int], list[int]] = defaultdict(list)

    def act(self, arrivals: Arrivals) -> Choices:
        choices = self.policy.act(arrivals)
        for match, row, action in zip(arrivals.match, arrivals.row, choices.action, strict=True):
            self.actions[int(match), int(row) % 2].append(int(action))
        return choices


class PokeEnvMind:
    """The poke-env battle of one seat, fed with the messages to that seat."""

    def __init__(self, gen: int, doubles: bool, seat: int) -> None:
        kind = DoubleBattle if doubles else Battle
        quiet = logging.getLogger("poke-env-compared")
        quiet.setLevel(logging.CRITICAL)
        self.battle = kind("battle-test-1", f"Player {seat + 1}", quiet, gen=gen)
        self.player = SimpleHeuristicsPlayer.__new__(SimpleHeuristicsPlayer)  # its rules need no connection

    def tell(self, lines: list[str], request: dict[str, Any]) -> None:  # Any: JSON
        for line in lines:
            words = line.split("|")
            if len(words) > 1 and words[1] not in Player.MESSAGES_TO_IGNORE and words[1] not in ("win", "tie", "debug"):
                self.battle.parse_message(words)
        self.battle.parse_request(request)

    def choose(self) -> BattleOrder:
        order: BattleOrder = self.player.choose_move(self.battle)
        return order


@contextmanager
def repaired(mind: PokeEnvMind, request: dict[str, Any]) -> Iterator[None]:  # Any: JSON
    """Fix poke-env's rules for set-up moves and terastallizing inside of `with`."""
    team = [(mind.battle.team[each["ident"]], each.get("teraType")) for each in request["side"]["pokemon"]]
    tera_types = [pokemon._terastallized_type for pokemon, _ in team]
    for pokemon, tera in team:
        pokemon._terastallized_type = PokemonType.from_name(tera) if tera else None
    with patch.object(Target, "__eq__", lambda one, other: one is other or (one is Target.SELF and other == "self")):
        yield
    for (pokemon, _), tera in zip(team, tera_types, strict=True):
        pokemon._terastallized_type = tera


def ours(action: int, actions: ActionMap, request: dict[str, Any]) -> list[SlotChoice]:  # Any: JSON
    slots = [action] if actions.slots == 1 else list(divmod(action, actions.slot_actions))
    return [_our_slot(slot, place, actions, request) for place, slot in enumerate(slots)]


def _our_slot(action: int, place: int, actions: ActionMap, request: dict[str, Any]) -> SlotChoice:  # Any: JSON
    if action < actions.uses:
        use, move = divmod(action, MOVES)
        variant, target = divmod(use, actions.targets)
        name = request["active"][place]["moves"][move]["id"]
        return SlotChoice(name, "" if variant == 0 else actions.variants[variant], (0, 1, 2, -1, -2)[target])
    switch = action - actions.uses
    return SlotChoice("pass") if switch == 6 else SlotChoice(request["side"]["pokemon"][switch]["ident"][4:])


def theirs(order: BattleOrder) -> list[SlotChoice]:
    if isinstance(order, DoubleBattleOrder):
        return [_their_slot(order.first_order), _their_slot(order.second_order)]
    assert isinstance(order, SingleBattleOrder)
    return [_their_slot(order)]


def _their_slot(order: SingleBattleOrder) -> SlotChoice:
    if isinstance(order.order, Move):
        gimmick = "dynamax" if order.dynamax else "tera" if order.terastallize else ""
        return SlotChoice(order.order.id, gimmick, order.move_target)
    if isinstance(order.order, Pokemon):
        return SlotChoice(order.order.name)
    return SlotChoice("pass" if "pass" in str(order) else "default")


def play(
    options: ShowdownOptions, matches: int, seed: int, folder: Path
) -> tuple[Recorder, list[dict[str, Any]]]:  # Any: JSON
    """Play the heuristic against another policy. Returns its recorded actions and the messages to every seat."""
    game = registry.load("showdown")
    trace = folder / "trace.jsonl"
    by_name: dict[str, Recorder] = {}

    def command(options: ShowdownOptions) -> HostCommand:
        plain = game.command(options)
        argv = (plain.argv[0], "--require", str(TRACER), *plain.argv[1:])
        return replace(plain, argv=argv, env={**plain.env, "LUDUS_TRACE": str(trace)})

    def policies(spec: GameSpec) -> dict[str, Policy]:
        by_name["heuristic"] = Recorder(POLICIES["heuristic"](spec, seed), spec)
        return {"heuristic": by_name["heuristic"], "max_damage": POLICIES["max_damage"](spec, seed)}

    arena.play(
        replace(game, command=command),
        options,
        policies,
        agent="heuristic",
        opponents=("max_damage",),
        matches=matches,
        seed=seed,
        log_dir=folder,
        fleet=FleetConfig(matches=8),
        hosts=1,
        save_replays=folder,  # without it, hosts discard the log, which the tracer reads, after every turn
        replays=0,
    )
    return by_name["heuristic"], [json.loads(line) for line in trace.read_text().splitlines()]


@dataclass(frozen=True)
class Decision:
    turn: int
    ours: list[SlotChoice]
    theirs: list[SlotChoice]  # with the rule for set-up moves repaired
    as_it_is: list[SlotChoice]


def compare(options: ShowdownOptions, matches: int, seed: int) -> Iterator[Decision]:
    with tempfile.TemporaryDirectory(prefix="ludus-compare-") as folder:
        recorder, trace = play(options, matches, seed, Path(folder))
    actions = ActionMap(recorder.spec)
    gen = int(options.format[3])
    minds: dict[tuple[int, int], PokeEnvMind] = {}
    decision_counts: Counter[tuple[int, int]] = Counter()
    for message in trace:
        seat = (message["match"], message["seat"])
        if seat not in recorder.actions:
            continue
        mind = minds.setdefault(seat, PokeEnvMind(gen, actions.slots == 2, message["seat"]))
        mind.tell(message["lines"], message["request"])
        action = recorder.actions[seat][decision_counts[seat]]
        decision_counts[seat] += 1
        if not message["request"].get("forceSwitch" if actions.slots == 2 else "teamPreview"):
            plain = theirs(mind.choose())
            with repaired(mind, message["request"]):
                yield Decision(
                    mind.battle.turn, ours(action, actions, message["request"]), theirs(mind.choose()), plain
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", default="gen1randombattle")
    parser.add_argument("--matches", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, help="print this many decisions on which they differ")
    args = parser.parse_args()
    random.seed(args.seed)  # poke-env draws from it where it knows nothing better
    counts: Counter[str] = Counter()
    for decision in compare(ShowdownOptions(format=args.format), args.matches, args.seed):
        for our, their, plain in zip(decision.ours, decision.theirs, decision.as_it_is, strict=True):
            if our.what == their.what == "pass":
                continue
            counts["decisions"] += 1
            counts["action"] += our.what == their.what
            counts["action and gimmick"] += (our.what, our.gimmick) == (their.what, their.gimmick)
            counts["action, gimmick and target"] += our == their
            counts["action, as it is"] += our.what == plain.what
            if our != their and (shown_count := counts["shown"]) < args.show:
                counts["shown"] = shown_count + 1
                print(f"turn {decision.turn}: ours {our}, theirs {their}")
    print(f"{args.format}: {counts['decisions']} decisions; the same")
    for name in ("action", "action and gimmick", "action, gimmick and target", "action, as it is"):
        print(f"  {name:28s} {counts[name] / counts['decisions']:.1%}")


if __name__ == "__main__":
    main()
