"""A daemon of the line protocol that `game: forge-daemon` speaks, with a small game of cards in place of Magic.

    python tests/forge_daemon.py [--persistent] [--fault KIND] [--every N] daemon -p PORT

It takes one command line per connection and checks every reply. With `--fault`, every N-th game breaks the protocol.
"""

from __future__ import annotations

import argparse
import json
import random
import socketserver
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Any

FAULTS = (
    "half",
    "garbage",
    "hang",
    "close",
    "oversized",
    "wrong_type",
    "timeout",
    "error",
    "rename",
    "noise",
    "result",
)
MOST_TURNS = 30
LIFE = 10


class Broken(Exception):
    """The connection is closed at once."""


class Ended(Exception):
    """The game is over; its argument is the winner's seat, or None."""


class Game:
    """One game of two players, who play lands and creatures, and attack."""

    def __init__(self, decks: list[str], observe: bool, seed: int, talk: Handler, fault: str) -> None:
        kind = "AiObs" if observe else "Agent"
        self.names = [f"{kind}({seat + 1})-{deck.partition('.')[0]}" for seat, deck in enumerate(decks)]
        self.random, self.observe, self.talk, self.fault = random.Random(seed), observe, talk, fault
        self.ids, self.decisions = count(1), count()
        self.turn, self.phase, self.active = 0, "UNTAP", 0
        self.attackers: list[dict[str, Any]] = []
        self.players = [self.player(name) for name in self.names]

    def player(self, name: str) -> dict[str, Any]:
        cards = [self.card("Forest", "Land", 0) for _ in range(9)]
        cards += [self.card(f"Bear {cost}", "Creature - Bear", cost) for cost in (1, 2, 2, 3, 3, 4, 1, 2, 3, 5, 2)]
        self.random.shuffle(cards)
        return {"name": name, "life": LIFE, "hand": cards[:6], "library": cards[6:], "battlefield": [], "graveyard": [],
                "lands": 0}  # fmt: skip

    def card(self, name: str, types: str, cost: int) -> dict[str, Any]:
        body = {"power": cost, "toughness": cost} if cost else {}
        return {"id": next(self.ids), "name": name, "mana_cost": f"{{{cost}}}", "cmc": cost, "types": types,
                "oracle_text": "words " * 20, "keywords": ["Trample"] if cost == 5 else [], **body}  # fmt: skip

    def play(self) -> int | None:
        try:
            for self.turn in range(1, MOST_TURNS):
                self.active = self.turn % 2
                self.one_turn(self.players[self.active], self.players[1 - self.active])
        except Ended as end:
            return int(end.args[0])
        return None

    def one_turn(self, own: dict[str, Any], other: dict[str, Any]) -> None:
        seat = self.active
        own["lands"] = 0
        for card in own["battlefield"]:
            card["tapped"] = card["summoning_sick"] = False
        if not own["library"]:
            raise Ended(1 - seat)
        own["hand"].append(own["library"].pop())
        self.phase = "UPKEEP"
        if self.turn == 2:
            self.ask("reveal", seat, None, {"zone": "Hand", "owner": own["name"], "cards": ["Forest"]})
        if self.turn == 3 and self.yes("play_trigger", seat) and self.yes("confirm_action", seat):
            own["life"] += int(self.one("announce_value", seat, {}, range(1000)) > 1)
        if self.turn == 4 and self.yes("play_from_effect", seat):
            abilities = [{"index": at, "description": f"gain {at}"} for at in range(2)]
            own["life"] += self.one("choose_ability", seat, {"abilities": abilities}, range(2))
            entities = [{"index": 0, "name": own["name"]}, {"index": 1, "name": other["name"]}]
            self.one("choose_entity", seat, {"entities": entities, "optional": True}, range(-1, 2))
        self.phase = "MAIN1"
        while self.act(own):
            pass
        self.fight(own, other)
        if len(own["hand"]) > 5:
            cards = [{"index": at, "card_id": card["id"], "name": card["name"]} for at, card in enumerate(own["hand"])]
            least = len(cards) - 5
            picked = self.several(seat, {"cards": cards, "min": least, "max": least}, len(cards))
            assert len(picked) == least, picked
            own["graveyard"] += [own["hand"][at] for at in picked]
            own["hand"] = [card for at, card in enumerate(own["hand"]) if at not in picked]

    def act(self, own: dict[str, Any]) -> bool:
        mana = sum(card["types"] == "Land" and not card.get("tapped") for card in own["battlefield"])
        playable = [card for card in own["hand"] if (card["cmc"] <= mana if card["cmc"] else not own["lands"])]
        if not playable:
            return False
        actions = [
            {"index": at, "description": f"Play {card['name']}", "card_id": card["id"], "is_land": not card["cmc"]}
            for at, card in enumerate(playable)
        ]
        chosen = self.one("choose_action", self.active, {"actions": actions}, range(-1, len(playable)))
        if chosen < 0:
            return False
        card = playable[chosen]
        own["hand"].remove(card)
        own["battlefield"].append({**card, "tapped": False, "summoning_sick": bool(card["cmc"]), "damage": 0})
        own["lands"] += not card["cmc"]
        lands = [each for each in own["battlefield"] if each["types"] == "Land" and not each["tapped"]]
        for land in lands[: card["cmc"]]:
            land["tapped"] = True
        return True

    def fight(self, own: dict[str, Any], other: dict[str, Any]) -> None:
        self.phase = "COMBAT_DECLARE_ATTACKERS"
        able = [card for card in own["battlefield"] if card["cmc"] and not card["summoning_sick"]]
        attacks = self.several(self.active, {"attackers": items(able)}, len(able), "declare_attackers") if able else []
        self.attackers = [able[at] for at in attacks]
        blockers = [card for card in other["battlefield"] if card["cmc"]]
        blocks: dict[int, int] = {}
        if self.attackers and blockers:
            data = {"blockers": items(blockers), "attackers": items(self.attackers)}
            reply = self.ask("declare_blockers", 1 - self.active, "", data)
            for pair in filter(None, reply.split(",")):
                one, target = map(int, pair.split(":"))
                assert 0 <= one < len(blockers), reply
                assert 0 <= target < len(self.attackers), reply
                assert one not in blocks, reply
                blocks[one] = target
        for at, attacker in enumerate(self.attackers):
            defenders = [blockers[place] for place, target in blocks.items() if target == at]
            if not defenders:
                other["life"] -= attacker["power"]
            for defender in defenders:
                if defender["power"] >= attacker["toughness"] and attacker in own["battlefield"]:
                    own["battlefield"].remove(attacker)
                if attacker["power"] >= defender["toughness"]:
                    other["battlefield"].remove(defender)
        self.attackers = []
        if other["life"] <= 0:
            raise Ended(self.active)

    def yes(self, kind: str, seat: int) -> bool:
        reply = self.ask(kind, seat, True, {"message": "?"})
        assert reply in ("y", "n"), reply
        return reply == "y"

    def one(self, kind: str, seat: int, data: dict[str, Any], allowed: range) -> int:
        reply = int(self.ask(kind, seat, allowed[-1] if len(allowed) < 500 else 2, data))
        if reply not in allowed:
            self.talk.say(f"ERROR: Value {reply} out of range [{allowed[0]}, {allowed[-1]}]")
            return allowed[0]
        return reply

    def several(self, seat: int, data: dict[str, Any], size: int, kind: str = "choose_cards") -> list[int]:
        choice = list(range(size if kind != "choose_cards" else data["min"]))
        picked = [int(word) for word in self.ask(kind, seat, choice, data).split(",") if word]
        assert len(set(picked)) == len(picked), picked
        assert all(0 <= at < size for at in picked), picked
        return picked

    def ask(self, kind: str, seat: int, ai_choice: object, data: dict[str, Any]) -> str:
        number = next(self.decisions)
        if number == 3:
            self.break_off()
        decision = {"decision_type": kind, "decision_id": number, "player": self.names[seat], "turn": self.turn,
                    "phase": self.phase, "game_state": self.state(), **data}  # fmt: skip
        if self.observe:
            decision["ai_choice"] = ai_choice
        if number == 3 and self.fault == "wrong_type":
            decision["decision_type"] = "choose_fate"
        if number == 3 and self.fault == "rename":
            decision["game_state"]["players"][0]["name"] = decision["player"] = "Nobody"
        self.talk.say("DECISION:" + json.dumps(decision))
        if kind == "reveal":
            return ""
        if self.observe:
            return ",".join(map(str, ai_choice)) if isinstance(ai_choice, list) else spoken(ai_choice)
        return self.talk.hear()

    def state(self) -> dict[str, Any]:
        players = [
            {"name": each["name"], "life": each["life"], "poison": 0, "has_lost": False, "max_land_plays": 1,
             "lands_played_this_turn": each["lands"], "hand_size": len(each["hand"]), "hand": each["hand"],
             "library_size": len(each["library"]), "graveyard": each["graveyard"], "battlefield": each["battlefield"],
             "exile": [], "mana_pool": {"total": 0}}
            for each in self.players
        ]  # fmt: skip
        state = {"is_game_over": False, "active_player": self.names[self.active], "players": players, "stack": [],
                 "priority_player": self.names[self.active]}  # fmt: skip
        if self.attackers:
            state["combat"] = {"attackers": items(self.attackers)}
        return state

    def break_off(self) -> None:
        match self.fault:
            case "half":
                self.talk.raw(b'DECISION:{"decision_type":"choose_')
                raise Broken
            case "garbage":
                self.talk.raw(b'DECISION:{"decision_type": [[[ \xff\xfe }\n')
            case "hang":
                self.talk.server.stopping.wait(60)
                raise Broken
            case "close":
                raise Broken
            case "oversized":
                self.talk.raw(b"DECISION:" + b"x" * (3 << 20) + b"\n")
            case "noise":
                for _ in range(500):
                    self.talk.say("what is this")
            case "timeout":
                self.talk.say("GAME_TIMEOUT: Game exceeded 120 seconds")
                self.talk.say("GAME_RESULT: Draw in 120000ms")
                raise Broken
            case "error":
                self.talk.say("GAME_ERROR: java.lang.NullPointerException")
                self.talk.say("GAME_RESULT: Draw in 10ms")
                raise Broken
            case "result":
                self.talk.say("GAME_RESULT: Somebody else won in 10ms")
                raise Broken


def items(cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"index": at, "card_id": card["id"], "name": card["name"], "power": card["power"]}
            for at, card in enumerate(cards)]  # fmt: skip


def spoken(choice: object) -> str:
    return ("y" if choice else "n") if isinstance(choice, bool) else str(choice)


class Handler(socketserver.StreamRequestHandler):
    server: Daemon

    def handle(self) -> None:
        try:
            while (line := self.hear_or_none()) is not None:
                if not self.command(line.split()) or not self.server.persistent:
                    return
        except (Broken, OSError):
            return
        except Exception as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)

    def command(self, words: list[str]) -> bool:
        """Obey one command. Returns False if the connection ends with it."""
        match words:
            case ["STATUS"]:
                for text in ("FORGE DAEMON STATUS", "  Active games: 0", "  Memory: 1MB / 2MB", "  Max concurrent: 10"):
                    self.say(text)
                if self.server.persistent:
                    self.say("  Persistent: true")
                return False
            case ["SHUTDOWN"]:
                self.say("Shutting down daemon...")
                threading.Thread(target=self.server.shutdown, daemon=True).start()
                return False
            case ["NEWGAME", first, second, mode, *_] if mode in ("-i", "-o"):
                return self.new_game([first, second], mode == "-o", words)
            case _:
                self.say(f"ERROR: Unknown command {' '.join(words)}")
                return False

    def new_game(self, decks: list[str], observe: bool, words: list[str]) -> bool:
        if any("missing" in deck for deck in decks):
            self.say("ERROR: Deck not found")
            return False
        number = next(self.server.games)
        seed = int(words[words.index("-s") + 1]) if "-s" in words else self.server.seed + number
        is_bad = self.server.fault and number % self.server.every == self.server.every - 1
        game = Game(decks, observe, seed, self, self.server.fault if is_bad else "")
        self.say(f"SEED: {seed}")
        self.say(f"GAME_START: {game.names[0]} vs {game.names[1]}")
        start_s = time.monotonic()
        winner = game.play()
        ms = int(1000 * (time.monotonic() - start_s))
        self.say(f"GAME_RESULT: {'Draw' if winner is None else f'{game.names[winner]} won'} in {ms}ms")
        return True

    def say(self, text: str) -> None:
        self.raw(text.encode() + b"\n")

    def raw(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def hear(self) -> str:
        line = self.hear_or_none()
        if line is None:
            raise Broken
        return line

    def hear_or_none(self) -> str | None:
        line = self.rfile.readline(1 << 16)
        return line.decode().strip() if line.endswith(b"\n") else None


class Daemon(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads = True, True

    def __init__(self, port: int, *, persistent: bool = False, fault: str = "", every: int = 1, seed: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.persistent, self.fault, self.every, self.seed = persistent, fault, every, seed
        self.games, self.stopping = count(), threading.Event()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Daemon:
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stopping.set()
        self.shutdown()
        self._thread.join(5)
        self.server_close()


def main(run: Callable[[Daemon], None] = lambda daemon: daemon.serve_forever(0.05)) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--fault", default="", choices=("", *FAULTS))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("mode", choices=["daemon"])
    parser.add_argument("-p", type=int, required=True, dest="port")
    given = parser.parse_args()
    run(Daemon(given.port, persistent=given.persistent, fault=given.fault, every=given.every))


if __name__ == "__main__":
    main()
