"""Finds the policies of a server: the names that clients use, and the checkpoint or run behind each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ludus.errors import CheckpointError, ConfigError
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.archive import Checkpoints
from ludus.policies.checkpoints.checkpoint import CHECKPOINTS, NAME
from ludus.suggestions import did_you_mean

VERSION_SIGN = "@"


@dataclass(frozen=True, slots=True)
class PolicySource:
    """A run or a checkpoint that is served under a name."""

    name: str
    path: Path
    watched: bool = False  # follow the run: its newest checkpoint replaces the one in use
    best: bool = False  # of a run: the checkpoint that evaluated best, instead of the latest

    def checkpoint(self, version: str = "") -> Path:
        """Return the folder of the checkpoint to serve; `version` (u00000120) selects one of a run. Raises
        CheckpointError."""
        folder = self.path / CHECKPOINTS
        if not version:
            best = Checkpoints(self.path, 1).best() if self.best and folder.is_dir() else None
            return checkpoint.find(self.path if best is None else folder / best.name)
        if NAME.fullmatch(version) is None or not (folder / version).is_dir():
            there = ", ".join(checkpoint.names_in(folder)[-5:]) or "none"
            raise CheckpointError(f"{self.name} has no checkpoint {version[:40]!r}; the latest are {there}")
        return checkpoint.find(folder / version)


def sources_of(arguments: Iterable[str], *, watched: Iterable[str] = (), best: bool = False) -> dict[str, PolicySource]:
    """Return the sources that the arguments of `ludus serve` name, as PATH or NAME=PATH, by name. Raises ConfigError
    if two have the same name, and CheckpointError if there is no checkpoint at a path."""
    sources: dict[str, PolicySource] = {}
    for text, follows in [*((text, False) for text in arguments), *((text, True) for text in watched)]:
        name_text, equals, rest = text.partition("=")
        path = Path(rest if equals else text)
        name = name_text if equals else default_name(path)
        if not name or len(name) > 100 or not all(each.isalnum() or each in "-_.@" for each in name):
            raise ConfigError(
                f"{text}: {name!r} is no name for a policy; use letters, digits and -_. as in mine={path}"
            )
        if name in sources and sources[name].path != path:
            raise ConfigError(
                f"{path} and {sources[name].path} would both be served as {name!r}; name one of them, as in "
                f"other={path}"
            )
        source = PolicySource(name, path, watched=follows or (name in sources and sources[name].watched), best=best)
        source.checkpoint()  # raises CheckpointError
        sources[name] = source
    if not sources:
        raise ConfigError("nothing to serve: name a run or a checkpoint, as in `ludus serve runs/gen1-20250101-1`")
    return sources


def default_name(path: Path) -> str:
    """Return the name of the run, or RUN@u00000120 for a checkpoint in a run."""
    resolved = path.resolve()
    if NAME.fullmatch(resolved.name) and resolved.parent.name == CHECKPOINTS:
        return f"{resolved.parent.parent.name}{VERSION_SIGN}{resolved.name}"
    return resolved.name


def find_source(requested: str, sources: Mapping[str, PolicySource]) -> tuple[PolicySource, str]:
    """Return the source and the version that a client asks for. Raises CheckpointError for an unknown name."""
    if requested in sources:
        return sources[requested], ""
    name, sign, version = requested.rpartition(VERSION_SIGN)
    if sign and name in sources:
        return sources[name], version
    raise CheckpointError(
        f"there is no policy {requested[:100]!r} here; {did_you_mean(requested[:100], list(sources))}"
    )
