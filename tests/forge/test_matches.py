"""Whole matches on a real Forge: ten decks, nothing hidden is seen, and a seed gives the same match again."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
from tests.forge import installed

from ludus.games.forge import compiled, installation
from ludus.games.forge.options import ForgeOptions
from ludus.types import Ending

GAMES = int(os.environ.get("FORGE_GAMES", "200"))
BYTES_A_ROW = 4096
LEFT_TO_AI = 0.01  # share of decisions
NO_CHOICE = {  # inherited methods that leave nothing to choose, besides which mana pays
    *("notifyOfValue", "revealAISkipCards", "revealAnte", "revealUnsupported"),  # these tell
    *("autoPassCancel", "awaitNextInput", "cancelAwaitNextInput"),  # for windows
    *("sideboard", "chooseCardsYouWonToAddToDeck"),  # between matches
    *("chooseManaFromPool", "orderCosts", "specifyManaCombo"),  # mana; the last one asks for each color
    *("CostAddMana", "CostDamage", "CostDraw", "CostFlipCoin", "CostGainLife", "CostMill", "CostPartMana"),
    *(
        "CostPayEnergy",
        "CostPayLife",
        "CostPayShards",
        "CostPutCounterYou",
        "CostRevealChosen",
        "CostRollDice",
        "CostTap",
        "CostUntap",
    ),
}


STRANGE_MANA = """[metadata]
Name=Strange mana
[main]
24 Mountain
4 Ruby Medallion
4 Helm of Awakening
4 Sphere of Resistance
4 Goblin Warchief
4 Raging Goblin
4 Hill Giant
4 Gray Ogre
2 Mana Flare
2 Gut Shot
2 Fireblast
2 Simian Spirit Guide
"""  # what changes costs, and what gives other mana than one for a tap


def test_whole_matches_of_ten_decks_end_without_a_fault(tmp_path: Path) -> None:
    schedule = [(number, 500 + number) for number in range(GAMES)]
    with installed.fleet(tmp_path, schedule, hosts=2, matches=6, decks=installed.ten_decks(), pairing="pool") as fleet:
        assert fleet.spec.obs.nbytes <= BYTES_A_ROW
        endings, _ = installed.play(fleet, GAMES, installed.GAME.scripted["random"](fleet.spec, 1))
    reasons = Counter(ending.void for ending in endings if ending.void)
    finished = [ending for ending in endings if not ending.void]
    totals: Counter[str] = Counter()
    for ending in finished:
        totals.update(ending.facts)
    share = totals["left_to_ai"] / (totals["left_to_ai"] + totals["asked"])
    print(f"{len(finished)} matches; voided: {dict(reasons)}; Forge's AI answered {share:.4%} of the decisions")
    print(f"facts, summed: {dict(sorted(totals.items()))}")
    assert sum(reasons.values()) <= 0.01 * GAMES
    assert all(ending.facts["turns"] > 1 and ending.facts["asked"] > 1 for ending in finished)
    assert sum(not ending.truncated for ending in finished) >= 0.9 * len(finished)
    assert totals["left_to_ai"] <= LEFT_TO_AI * totals["asked"]
    assert totals["failed_plays"] <= 0.01 * totals["asked"]
    assert 0.2 < np.mean([ending.score[0] for ending in finished]) < 0.8


def test_what_is_hidden_changes_neither_observation_nor_options(tmp_path: Path) -> None:
    forge = installation.find_forge()
    java = installation.find_java()
    classes = compiled.classes_of(forge, java)
    source = Path(__file__).with_name("LeakCheck.java")
    path = os.pathsep.join((str(classes), str(forge.jar)))
    subprocess.run(("javac", "-d", str(tmp_path), "-cp", path, str(source)), check=True, timeout=100)
    strange = tmp_path / "strange.dck"
    strange.write_text(STRANGE_MANA)
    decks = "\n".join((*installed.ten_decks(), str(strange), str(strange)))  # drawn twice as often as others
    words = ("java", "-Xmx700m", "-XX:+UseSerialGC", "-cp", f"{tmp_path}{os.pathsep}{path}", "LeakCheck")
    done = subprocess.run(
        (*words, str(forge.folder), decks, "12"), capture_output=True, text=True, timeout=1200, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    counts = json.loads(done.stdout.splitlines()[-1])
    print(counts)
    assert counts["compared"] > 500
    assert (counts["leaked"], counts["other_options"]) == (0, 0)
    assert counts["left_out"] == 0  # ForgeTiming and ForgeMana tell the same as Forge
    assert counts["control_different"] == counts["control"] > 10


def test_forges_ai_answers_no_decision_without_being_counted(tmp_path: Path) -> None:
    forge = installation.find_forge()
    path = os.pathsep.join((str(compiled.classes_of(forge, installation.find_java())), str(forge.jar)))
    source = Path(__file__).with_name("Inherited.java")
    subprocess.run(("javac", "-d", str(tmp_path), "-cp", path, str(source)), check=True, timeout=100)
    words = ("java", "-cp", f"{tmp_path}{os.pathsep}{path}", "Inherited")
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=True)
    assert set(done.stdout.split()) <= NO_CHOICE


def test_a_seed_gives_the_same_match_in_another_process_and_beside_other_matches(tmp_path: Path) -> None:
    schedule = [(number, 900 + number) for number in range(6)]
    seen = []
    for at, matches in enumerate((1, 1, 3)):
        decks = installed.ten_decks()
        with installed.fleet(tmp_path / str(at), schedule, matches=matches, decks=decks, pairing="pool") as fleet:
            endings, digests = installed.play(fleet, len(schedule))
        assert not [ending.void for ending in endings if ending.void]
        seen.append((digests, {ending.match: ending.score.tolist() for ending in endings}))
    assert seen[0] == seen[1]  # another process
    assert seen[0] == seen[2]  # three matches at once


def test_forges_ai_plays_a_seat_and_a_gauntlet_has_its_decks(tmp_path: Path) -> None:
    decks = installed.ten_decks()
    schedule = [(number, number) for number in range(2)]
    with installed.fleet(tmp_path, schedule, decks=decks[0], opposing=(decks[1],), pairing="gauntlet") as fleet:
        policies = [installed.GAME.scripted[name](fleet.spec, 1) for name in ("curve", "forge_ai")]
        endings: list[Ending] = []
        while len(endings) < len(schedule):
            arrivals = fleet.recv(installed.DEADLINE_S)
            endings += arrivals.endings
            for seat, policy in enumerate(policies):
                rows = arrivals.take(np.flatnonzero(arrivals.row % 2 == seat))
                if len(rows):
                    fleet.send(rows.row, policy.act(rows).action)
    for ending in endings:
        assert (ending.facts["played_by_forge@0"], ending.facts["played_by_forge@1"]) == (0, 1)
        assert sum(name.startswith("deck/") for name in ending.facts) == 2


def test_the_defaults_are_two_simple_decks() -> None:
    command = installed.GAME.command(msgspec.convert({}, ForgeOptions))
    assert command.options is not None
    assert len(command.options["decks"].splitlines()) == 2


def test_a_limit_cuts_a_match_short_or_lets_life_decide(tmp_path: Path) -> None:
    schedule = [(number, 40 + number) for number in range(8)]
    endings = {}
    for at_limit in ("truncate", "life"):
        with installed.fleet(tmp_path / at_limit, schedule, max_turns=12, at_limit=at_limit) as fleet:
            endings[at_limit], _ = installed.play(fleet, len(schedule), installed.GAME.scripted["curve"](fleet.spec, 1))
    assert all(ending.facts["limited"] == ending.truncated for ending in endings["truncate"])
    assert {tuple(ending.score) for ending in endings["truncate"] if ending.truncated} == {(0.5, 0.5)}
    assert not any(ending.truncated for ending in endings["life"])
    decided = [tuple(ending.score) for ending in endings["life"] if ending.facts["limited"]]
    assert len(decided) >= 4
    assert {(1.0, 0.0), (0.0, 1.0)} <= set(decided) <= {(1.0, 0.0), (0.5, 0.5), (0.0, 1.0)}
