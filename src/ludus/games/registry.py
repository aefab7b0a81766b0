"""Games are found by entry points in the group `ludus.games`, so that a game can live in a package of its own."""

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
    from torch import nn

    from ludus.config.settings import PolicyConfig
    from ludus.policies.nets import NetFactory

GROUP = "ludus.games"

Progress = Callable[[str, float], None]  # what is being done, share of the whole done so far


@dataclass(frozen=True, slots=True)
class ServersHealth:
    total: int
    alive: int  # that take matches
    restarts: int  # after failures
    recycled: int  # started anew, as they had grown
    memory_mib: float  # of all together
    largest_mib: float  # of one


@dataclass(frozen=True)
class Served:
    """Servers of a game, up and looked after."""

    options: Any  # Any: the game's own options struct, which now names the servers
    pids: Callable[[], Collection[int]]  # of the servers, as they are now
    health: Callable[[], ServersHealth | None] = lambda: None  # of a moment ago; None: there are none, or nobody knows


Serve = Callable[[Any, ServersConfig, Path], AbstractContextManager[Served]]
"""(the game's own options, how many, a folder for logs) -> servers that are up inside of `with` and gone after it."""


@dataclass(frozen=True)
class HostFootprint:
    """What a host takes when it has played for a while, where that is known; `ludus train --size` counts with it."""

    host_mib: float
    match_mib: float  # of each match, beside that
    row_bytes: int  # of one decision in a batch: observation, mask and what is recorded of it


@dataclass(frozen=True)
class Game:
    """What the rest of the system may know of a game before one of its hosts has said HELLO."""

    name: str
    summary: str
    options: type[msgspec.Struct]  # frozen, forbid_unknown_fields; becomes `options` in CONFIGURE; the main one first
    command: Callable[[Any], HostCommand]  # Any: the game's own options struct. May install what is missing: SetupError
    scripted: Mapping[str, Callable[[GameSpec, int], Policy]]  # name -> (spec, seed) -> policy
    net: str  # what policy.net: auto means here
    presets: Path  # folder of YAML presets shipped with the game
    formats: Callable[[], Sequence[str]] | None = None  # names of its variants, where it has such
    local: frozenset[str] = frozenset()  # options that mean nothing on another machine; kept out of saved matches
    # options of text, lists or sections that a file from elsewhere may set, each with a test of its value; a file may
    # always set numbers, true and false, and words from a fixed list, and nothing else (games/trust.py)
    portable: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)  # Any: a value of unknown type
    page: Callable[[str, str], str] | None = None  # (title, log) -> HTML that shows a replayed match
    prepare: Callable[[Any, Progress], None] | None = None  # what `command` would install, with progress: SetupError
    memory: HostFootprint | None = None  # None: a host is measured where it matters
    serve: Serve | None = None  # starts the servers its matches are played on, where it has such
    # nets that the game brings beside those for any game: name -> "module:attribute" of a torch module's class that
    # takes (spec, policy config). Imported when such a net is built, so that a game can be listed without torch
    nets: Mapping[str, str] = field(default_factory=dict)
    # hooks: objects named as "module:attribute", imported when they are used (games/hooks.py). Empty: the game has none
    commands: Mapping[str, str] = field(default_factory=dict)  # `ludus NAME` -> a function with typer's annotations
    # or a typer.Typer with several subcommands
    checks: str = ""  # () -> findings that `ludus doctor` shows (games/checks.py)
    table_lines: str = ""  # (the run's numbers by metric name) -> (label, value) lines for the live table
    stable_log: str = ""  # (log of a match) -> the log without the parts that differ when the match is replayed

    def served(self, options: Any, servers: ServersConfig, folder: Path) -> AbstractContextManager[Served]:
        """The servers that are asked for, up inside of `with`; with none asked for, the options as they are."""
        if not servers.count:
            return nullcontext(Served(options, lambda: ()))
        if self.serve is None:
            raise ConfigError(f"servers.count: {self.name} is played without servers; leave it out, or at 0")
        return self.serve(options, servers, folder)


def load(name: str) -> Game:
    """The game of that name; what follows a colon is the first of its options, as in `gymnasium:CartPole-v1`. A name
    that nobody has is refused with the nearest known one."""
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
    def build(spec: GameSpec, config: PolicyConfig) -> nn.Module:
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
