"""Put a trained agent into a game's folder of agents: python scripts/ship_agent.py RUN NAME "One line about it."

Copies the run's configuration and its latest checkpoint, without optimiser and running matches, into
src/ludus/games/GAME/agents/NAME, and writes its model card from the run's final evaluation. `ludus agents` lists it,
and its name is accepted wherever the folder of a run is. An agent of that name is replaced.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import yaml
from keep_run import latest_start, run_record

from ludus.games import registry
from ludus.games.agents import CARD, NAME
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.archive import Checkpoints
from ludus.policies.checkpoints.checkpoint import MODEL, State
from ludus.policies.weights import read_tensors

ELSEWHERE = "Its win rates hold for the players above; nothing is known of how it does against people."


def main() -> None:
    arguments = _arguments()
    run, name = arguments.run, arguments.name
    if not NAME.fullmatch(name):
        raise SystemExit(f"{name!r} is no name for an agent; use small letters, digits and -")
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    folder = registry.load(config["game"]).agents
    if folder is None:
        raise SystemExit(f"{config['game']} has no folder of agents: set Game.agents")
    agent = folder / name
    shutil.rmtree(agent, ignore_errors=True)
    agent.mkdir(parents=True)
    saved = checkpoint.find(run)
    state = checkpoint.read_state(saved)
    Checkpoints(agent, 1).save(_without_matches(state), read_tensors(saved / MODEL), {})
    shutil.copyfile(run / "config.yaml", agent / "config.yaml")
    record = run_record(run, name, arguments.commit)
    (agent / CARD).write_text(_card(name, arguments.summary, arguments.limits, run, config, record), encoding="utf-8")
    print(
        json.dumps(
            {"agent": str(agent), "bytes": sum(each.stat().st_size for each in agent.rglob("*") if each.is_file())}
        )
    )


def _without_matches(state: State) -> State:
    """Return the state without what only training needs: running matches, random generators, past selves."""
    return msgspec.structs.replace(
        state, actor=None, other_actors=[], generators={}, pool=[], sampler=None, opponents=None, curriculum=None
    )


def _card(name: str, summary: str, limits: str, run: Path, config: dict[str, Any], record: dict[str, Any]) -> str:
    start, commits = latest_start(run, record["commit"])
    policy, opponents = config["policy"], config["opponents"]
    met = opponents["scripted_names"] or ["all scripted players except random"] if opponents["scripted"] else ["none"]
    rows = [
        f"| {opponent} | {score['wins'] / score['matches']:.1%} | {score['interval'][0]:.1%} to "
        f"{score['interval'][1]:.1%} | {score['matches']:,} |"
        for opponent, score in record["scores"].items()
    ]
    net = f"{policy['net']}, width {policy['width']}, context {policy['context']}"
    lines = [
        f"# {name}",
        "",
        summary,
        "",
        f"Play against it: `ludus play {name} --browser`. Evaluate it: `ludus eval {name}`.",
        "",
        "| | |",
        "| --- | --- |",
        f"| game | {record['format']} |",
        f"| played in training | {record['decisions']:,} decisions, {record['updates']:,} updates |",
        f"| time | {record['minutes']:.3g} minutes |",
        f"| machine | {start.cores} cores, {start.gpu + ', ' if start.gpu else ''}{start.system} |",
        f"| commit | {commits} |",
        f"| algorithm | {config['learner']['algorithm']}, net {net} |",
        f"| scripted players met in training | {', '.join(met)} |",
        "",
        "Final evaluation, most likely action, every seed from both sides:",
        "",
        "| opponent | win rate | 95% interval | matches |",
        "| --- | --- | --- | --- |",
        *rows,
        "",
        "## What it cannot do",
        "",
        f"{limits} {ELSEWHERE}".strip(),
        "",
    ]
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    parser.add_argument("summary")
    parser.add_argument("--limits", default="", help="what it cannot do, in a sentence or two")
    parser.add_argument("--commit", default="", help="for a run that did not record its commit")
    return parser.parse_args()


if __name__ == "__main__":
    main()
