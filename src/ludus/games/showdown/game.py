"""Entry point of Pokemon Showdown: its options, and how its hosts are started."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from ludus.games.portable import text_like
from ludus.games.registry import Game, HostFootprint, Progress
from ludus.games.showdown import install
from ludus.games.showdown.page import page
from ludus.games.showdown.scripted import POLICIES, SEARCHING
from ludus.processes.command import HostCommand

HERE = Path(__file__).parent

# What each is for: docs/games/showdown.md, "Memory and flags".
NODE_FLAGS = (
    *("--no-flush-bytecode", "--no-memory-reducer"),
    *("--single-threaded-gc", "--no-incremental-marking"),
    *("--max-semi-space-size=48", "--max-old-space-size=1024"),
    "--maglev-filter=-hitStepMoveHitLoop",
)

# What the pinned simulator has; a test compares. Formats without "random" in their name need a folder of teams.
FORMATS = (
    *(f"gen{gen}randombattle" for gen in range(1, 10)),
    "gen9randomdoublesbattle",
    *(f"gen{gen}ou" for gen in range(1, 10)),
    *(f"gen{gen}doublesou" for gen in range(3, 10)),
    "gen8vgc2022",
    "gen9vgc2024regg",
    "gen9vgc2025regi",
    "gen9nationaldex",
)


# Groups that observations can do without. Without the first five, rows are those of schema 4.
Group = Literal["last_turn", "speed", "evidence", "pairs", "forms", "ko", "beliefs"]


class ShowdownOptions(Struct, frozen=True, forbid_unknown_fields=True):
    format: str = "gen1randombattle"
    feature_set: Literal["raw", "full"] = "full"  # full adds type effectiveness, STAB and estimated damage
    beliefs: bool = True  # with full: what the foe probably has besides what it has shown
    leave_out: tuple[Group, ...] = ()  # groups of an observation's contents, to see what each is worth
    usage: str | None = None  # file of usage statistics, from which beliefs are made in formats without generated teams
    teams: str | None = None  # folder of team files, for formats that do not make their own teams
    max_turns: Annotated[int, Meta(ge=1)] = 300  # then the match is truncated
    reward_win: float = 1.0  # the loser's is minus this
    reward_shaping: float = 0.5  # times the change of (own - foe) mean of remaining hp and of Pokemon alive
    stock_engine: bool = False  # run Showdown without the speed-up
    node: str = "wheel"  # "wheel", "system" or the path of an executable


def command(options: ShowdownOptions) -> HostCommand:
    """Install the simulator if missing (or raise SetupError) and return the command that starts a host."""
    installed = install.ensure(options.node)
    host = HERE / "host" / "host.js"
    return HostCommand((str(installed.node), *NODE_FLAGS, str(host), "--sim", str(installed.root)))


def prepare(options: ShowdownOptions, progress: Progress) -> None:
    """Install the simulator if it is missing."""
    install.ensure(options.node, progress)


game = Game(
    name="showdown",
    summary="Pokemon battles on Showdown's own engine, singles and doubles of all generations",
    options=ShowdownOptions,
    command=command,
    scripted=POLICIES,
    searching=SEARCHING,
    net="pointer",
    nets={
        "pointer": "ludus.games.showdown.net.pointer:PointerNet",
        "tokens": "ludus.games.showdown.net.tokens:TokenNet",
    },
    presets=HERE / "presets",
    agents=HERE / "agents",
    formats=lambda: FORMATS,
    local=frozenset({"node"}),
    portable={"format": text_like("[a-z0-9]+")},
    page=page,
    prepare=prepare,
    installed=lambda options: (install.folder(),),
    commands={
        "play": "ludus.games.showdown.commands.play:play",
        "servers": "ludus.games.showdown.commands.servers:app",
    },
    checks="ludus.games.showdown.checks:checks",
    table_lines="ludus.games.showdown.hooks:table_lines",
    exports={"metamon": "ludus.games.showdown.metamon:export"},
    thinking="ludus.games.showdown.search.thinking:thinking_policy",
    stable_log="ludus.games.showdown.hooks:stable_log",
    memory=HostFootprint(145.0, 3.7, 4352),  # host_rss_mib of 16 and 64 battles in showdown.jsonl; the rows of doubles
)
