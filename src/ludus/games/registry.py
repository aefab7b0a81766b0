"""Installed games, found by entry points in the group `ludus.games`. A game can live in a package of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ludus.config.settings import ServersConfig
from ludus.errors import ConfigError
from ludus.processes.command import HostCommand
from ludus.spec import GameSpec
from ludus.suggestions import did_you_mean
from ludus.types import Policy

if TYPE_CHECKING:
    from ludus.config.settings import PolicyConfig
    from ludus.policies.nets import NetFactory
    from ludus.policies.nets.net import Net

GROUP = "ludus.games"

Progress = Callable[[str, float], None]  # name of the current step, share of the whole that is done


@dataclass(frozen=True, slots=True)
class ServersHealth:
    total: int
    alive: int  # servers that accept matches
    restarts: int  # restarts after failures
    recycled: int  # servers that were replaced because their memory had grown
    memory_mib: float  # of all servers together
    largest_mib: float  # of the largest server


@dataclass(frozen=True)
class Served:
    """Running servers of a game, and the options that name them."""

    options: Any  # Any: the game's own options struct, which now names the servers
    pids: Callable[[], Collection[int]]  # process ids of the servers at the time of the call
    health: Callable[[], ServersHealth | None] = lambda: None  # None if there are no servers or nothing is known


Serve = Callable[[Any, ServersConfig, Path], AbstractContextManager[Served]]
"""(the game's own options, number of servers, folder for logs) -> a context manager that runs the servers."""


@dataclass(frozen=True)
class HostFootprint:
    """Memory of a host that has played for a while. `ludus train --size` computes with it."""

    host_mib: float
    match_mib: float  # of each match, in addition
    row_bytes: int  # of one decision in a batch: observation, mask and recorded values


@dataclass(frozen=True, slots=True)
class RewardTerms:
    """Lets `ludus ablate` read and change the named terms of a game's reward."""

    weights: Callable[[Any], Mapping[str, float]]  # (options) -> weight of each term that counts with these options
    # (options, weights) -> options to change, by name, so that exactly these terms count; ConfigError if it cannot be
    changed: Callable[[Any, Mapping[str, float]], Mapping[str, Any]]


@dataclass(frozen=True)
class Game:
    """A game as ludus knows it before one of its hosts runs. docs/games.md explains the fields with an example.

    `nets`, `commands`, `checks`, `table_lines`, `exports`, `thinking` and `stable_log` name objects as
    "module:attribute". They are imported when they are used, so that games can be listed without torch and typer. An
    empty text means that the game has no such hook.
    """

    name: str
    summary: str  # one line for `ludus games`
    options: type[msgspec.Struct]  # frozen, with forbid_unknown_fields; `game: NAME:VALUE` sets its first field
    command: Callable[[Any], HostCommand]  # (options) -> how to start a host; may install, and then raise SetupError
    scripted: Mapping[str, Callable[[GameSpec, int], Policy]]  # name -> (spec, seed) -> scripted policy
    net: str  # the net that `policy.net: auto` means
    presets: Path  # folder of YAML presets
    agents: Path | None = None  # folder of trained agents that come with the game (games/agents.py)
    formats: Callable[[], Sequence[str]] | None = None  # names of the game's variants
    # scripted policies that search, and are slow: played only where they are named
    searching: Mapping[str, Callable[[GameSpec, int], Policy]] = field(default_factory=dict)
    local: frozenset[str] = frozenset()  # options that are not saved with a match: they differ between machines
    # A file from another machine may always set numbers, booleans and words from a fixed list (games/trust.py).
    portable: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)  # other options it may set, with a test
    page: Callable[[str, str], str] | None = None  # (title, log) -> HTML page of a replayed match
    prepare: Callable[[Any, Progress], None] | None = None  # (options, progress): installs what hosts need; SetupError
    installed: Callable[[Any], Sequence[Path]] | None = None  # (options) -> folders that `prepare` fills
    memory: HostFootprint | None = None  # None: hosts are measured when the number is needed
    serve: Serve | None = None  # starts the servers that matches are played on
    # (options, servers.count) -> matches that the servers can run at once, by which `matches_on` is bounded; 0: any
    most_matches: Callable[[Any, int], int] | None = None
    nets: Mapping[str, str] = field(default_factory=dict)  # name -> torch module, built from (spec, policy config)
    commands: Mapping[str, str] = field(default_factory=dict)  # name of `ludus NAME` -> function or typer.Typer
    checks: str = ""  # () -> findings that `ludus doctor` shows (games/checks.py)
    table_lines: str = ""  # (numbers by metric name) -> (label, value) lines for the live table
    exports: Mapping[str, str] = field(default_factory=dict)  # name -> function for `ludus data export --to NAME`
    reward_terms: RewardTerms | None = None  # None: the reward has no named terms
    # (policy, spec, options, milliseconds) -> the policy with search before each decision (games/thinking.py)
    thinking: str = ""
    stable_log: str = ""  # (log of a match) -> log without the parts that differ when the match is replayed

    @property
    def players(self) -> Mapping[str, Callable[[GameSpec, int], Policy]]:
        """All scripted policies, those that search included."""
        return {**self.scripted, **self.searching}

    def saved_options(self, options: msgspec.Struct | Mapping[str, Any]) -> dict[str, Any]:  # Any: the game's own
        """Return the options that are saved with a match, as a file of JSON returns them: lists instead of tuples."""
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(options))
        return {name: value for name, value in plain.items() if name not in self.local}

    def served(self, options: Any, servers: ServersConfig, folder: Path) -> AbstractContextManager[Served]:
        """Return a context manager that runs `servers.count` servers. With 0 it returns the options unchanged. Raises
        ConfigError if the game is played without servers."""
        if not servers.count:
            return nullcontext(Served(options, lambda: ()))
        if self.serve is None:
            raise ConfigError(f"servers.count: {self.name} is played without servers; leave it out, or at 0")
        return self.serve(options, servers, folder)

    def matches_on(self, options: Any, hosts: int, matches: int, *, servers: int = 0) -> int:
        """Return how many of `matches` a host may play at once, so that the servers can run those of all hosts: at
        least 1. `servers` is the number that will be started, if `options` does not name running ones."""
        most = 0 if self.most_matches is None else self.most_matches(options, servers)
        return max(1, min(matches, most // hosts)) if most else matches


def load(name: str) -> Game:
    """Return the game of that name. A colon and the text after it are ignored: in `gymnasium:CartPole-v1`, they set the
    game's first option. Raises ConfigError for an unknown name and for a game that cannot be imported."""
    name = name.partition(":")[0]
    points = entry_points(group=GROUP, name=name)
    if not points:
        raise ConfigError(f"game: unknown game {name!r}; {did_you_mean(name, names())}")
    point = next(iter(points))
    try:
        game = point.load()
    except (ImportError, AttributeError) as error:
        package = point.dist.name if point.dist is not None else "an unknown package"
        raise ConfigError(
            f"game: {name!r} of {package} cannot be loaded: {error}; repair or uninstall {package}"
        ) from error
    if not isinstance(game, Game):
        raise ConfigError(f"game: entry point {name!r} in group {GROUP!r} is {type(game).__name__}, expected a Game")
    return game


def nets_of(game: Game) -> dict[str, NetFactory]:
    """The nets that a game brings, by name. The module of a net is imported when the net is built; a module or a name
    in it that is missing raises ConfigError."""
    return {name: _lazy(game, name, reference) for name, reference in game.nets.items()}


def _lazy(game: Game, name: str, reference: str) -> NetFactory:
    def build(spec: GameSpec, config: PolicyConfig) -> Net:
        try:
            factory: NetFactory = attribute_of(game, reference, f"its net {name!r}")
        except ConfigError as error:
            raise ConfigError(f"policy.net: {error}") from error
        return factory(spec, config)

    return build


def attribute_of(game: Game, reference: str, purpose: str) -> Any:  # Any: each hook has a type of its own
    """Import the object that a game names as "module:attribute". Raises ConfigError if there is no such object."""
    module, _, attribute = reference.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:  # ValueError: an empty module name
        raise ConfigError(f"{game.name} names {reference!r} as {purpose}: {error}") from error


def names() -> list[str]:
    """Every installed game, sorted."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def names_by_precedence() -> list[str]:
    """Every installed game: first those that come with ludus, then those of other packages, both sorted. If two games
    use one name for a preset or a command, the first of this list has it."""
    shipped = {point.name for point in entry_points(group=GROUP) if point.value.startswith(f"{__package__}.")}
    return sorted(names(), key=lambda name: (name not in shipped, name))
