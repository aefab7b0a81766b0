"""The sped-up Showdown engine plays the same battles as the stock one, and refuses a simulator it does not know."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ludus.games.showdown.install import Installation

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "src/ludus/games/showdown/host/engine.js"
COMPARE = ROOT / "scripts/compare_engines.js"
FORMATS = (  # mods of the rules early, middle and late, two Pokemon on a side, two players on a side
    "gen1randombattle",
    "gen4randombattle",
    "gen7randombattle",
    "gen9randomdoublesbattle",
    "gen8multirandombattle",
)
OTHERS = (
    "gen2randombattle",
    "gen3randombattle",
    "gen5randombattle",
    "gen6randombattle",
    "gen8randombattle",
    "gen9randombattle",
    "gen9doubleshackmonscup",
    "gen9freeforallrandombattle",
)
BATTLES = 8  # every eighth goes on from a saved copy, so fewer would leave that out


@pytest.mark.parametrize("formats", [FORMATS, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["some", "others"])
def test_patched_engine_plays_the_same_battles_as_stock(showdown: Installation, formats: tuple[str, ...]) -> None:
    run = _node(
        showdown,
        str(COMPARE),
        *("--sim", str(showdown.root), "--formats", ",".join(formats)),
        *("--battles", str(BATTLES), "--seed", "20"),
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    equal = dict(re.findall(r"^(\w+) +\d+ battles, (\d+) equal", run.stdout, re.MULTILINE))
    assert equal == {name: str(BATTLES) for name in formats}


def test_comparison_tells_where_battles_part(showdown: Installation, tmp_path: Path) -> None:
    engine = tmp_path / "engine.js"
    engine.write_text(
        "const path = require('node:path');\n"
        "exports.speedUp = root => {\n"
        "  const {Battle} = require(path.join(root, 'dist/sim/battle.js'));\n"
        "  const {add} = Battle.prototype;\n"
        "  Battle.prototype.add = function (...parts) {\n"
        "    return add.call(this, ...parts.map(part => part === 'turn' ? 'round' : part));\n"
        "  };\n"
        "};\n"
    )
    run = _node(
        showdown,
        str(COMPARE),
        *("--sim", str(showdown.root), "--engine", str(engine), "--formats", "gen1randombattle", "--battles", "1"),
    )
    assert run.returncode == 1
    assert "gen1randombattle: battle 0 with --seed 1 differs at line" in run.stdout
    assert re.search(r"stock +\|turn\|1\n +patched +\|round\|1", run.stdout)


def test_engine_refuses_another_version_of_the_simulator(showdown: Installation, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"name": "pokemon-showdown", "version": "0.11.12"}))
    message = _refusal(showdown, f"engine.speedUp({json.dumps(str(tmp_path))})")
    assert "is written for pokemon-showdown 0.11.11" in message
    assert "holds 0.11.12" in message


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("delete Battle.prototype.endTurn", "cannot find Battle#endTurn"),
        ("Battle.prototype.endTurn = function () {}", "does not know this Battle#endTurn"),
    ],
)
def test_engine_refuses_a_missing_or_changed_method_and_patches_nothing(
    showdown: Installation, change: str, expected: str
) -> None:
    message = _refusal(
        showdown,
        f"const {{Battle}} = require(root + '/dist/sim/battle.js'); const {{runEvent}} = Battle.prototype; {change};"
        "try { engine.speedUp(root) } finally { if (Battle.prototype.runEvent !== runEvent) process.exit(9) }",
    )
    assert expected in message


def test_second_call_changes_nothing(showdown: Installation) -> None:
    run = _node(
        showdown,
        "-e",
        _script(
            showdown,
            "engine.speedUp(root); const {Battle} = require(root + '/dist/sim/battle.js');"
            "const {runEvent} = Battle.prototype; engine.speedUp(root);"
            "process.exit(Battle.prototype.runEvent === runEvent ? 0 : 1)",
        ),
    )
    assert run.returncode == 0, run.stderr


LEARNSETS = r"""
const play = (sim, formatid) => {
  const battle = new sim.Battle({formatid});
  for (const id of ['p1', 'p2']) battle.setPlayer(id, {name: id});
  while (!battle.ended && battle.turn < 50) battle.makeChoices();
};
const files = () => Object.keys(require.cache).filter(file => file.startsWith(root) && file.endsWith('learnsets.js'));
const tables = sim => Object.fromEntries(mods.map(mod => {
  const text = JSON.stringify(sim.Dex.mod(mod).data.Learnsets);
  return [mod, require('node:crypto').createHash('sha256').update(text).digest('hex')];
}));
"""


def test_learnsets_are_loaded_when_somebody_reads_them_and_are_those_of_stock(showdown: Installation) -> None:
    mods = ["gen1", "gen2", "gen4", "gen7letsgo", "gen8dlc1", "gen9", "gen9dlc1", "champions", "afd"]
    begin = f"const mods = {json.dumps(mods)}; {LEARNSETS}"
    stock = _told(showdown, f"{begin} console.log(JSON.stringify(tables(require(root))))")
    played = (
        f"{begin} engine.speedUp(root); const sim = require(root);"
        "for (const format of ['gen1randombattle', 'gen4randombattle', 'gen9randomdoublesbattle']) play(sim, format);"
        "console.log(JSON.stringify({before: files(), tables: tables(sim), after: files().length}))"
    )
    patched = _told(showdown, played)
    assert patched["before"] == []
    assert patched["tables"] == stock
    assert len(set(stock.values())) > 3  # mods have tables of their own
    assert patched["after"] > 1


def _told(showdown: Installation, body: str) -> dict[str, Any]:  # Any: a JSON value
    run = _node(showdown, "-e", _script(showdown, body))
    assert run.returncode == 0, run.stderr
    told: dict[str, Any] = json.loads(run.stdout)
    return told


def _refusal(showdown: Installation, body: str) -> str:
    run = _node(showdown, "-e", _script(showdown, body))
    assert run.returncode == 1, run.stdout + run.stderr
    return run.stderr


def _script(showdown: Installation, body: str) -> str:
    return f"const engine = require({json.dumps(str(ENGINE))}); const root = {json.dumps(str(showdown.root))}; {body}"


def _node(showdown: Installation, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(showdown.node), *arguments], capture_output=True, text=True, timeout=170, check=False)
