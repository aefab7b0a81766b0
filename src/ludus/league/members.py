"""The members of a league: frozen policies in a folder that any process which sees it can read and join.

<league>/league.json                     the game, its options and its spec (`LeagueNote`)
         members/NAME/member.json        one member (`Member`)
                      model.safetensors  its weights, copied from its checkpoint
                      state.json         the game and net of its checkpoint
                      checksums.json     of these files
         results/*.log                   matches between members (results.py)
         replays/*.ludus.json            the best matches
         standings.md .csv payoff.png    made again from the files above at any time

A member's folder appears with one rename, so a process that is killed while it adds a member leaves none.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from ludus import files
from ludus.errors import CheckpointError, ConfigError, LeagueError
from ludus.games.registry import Game
from ludus.league.results import NAME_LENGTH, Name
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.policies.checkpoints.checkpoint import MODEL, STATE, SavedCheckpoint
from ludus.serving.address import LOOPBACK, Address
from ludus.serving.protocol import PolicyDescription
from ludus.spec import GameSpec
from ludus.suggestions import did_you_mean

NOTE, MEMBERS, MEMBER = "league.json", "members", "member.json"
VERSION = 1
NOTE_BYTES = 1 << 20  # of league.json and member.json
MOST_MEMBERS = 10_000
CHECKPOINT, SCRIPTED, SERVER, OUTSIDER = "checkpoint", "scripted", "server", "outsider"  # kinds of members
SCRIPTED_PREFIX, OUTSIDER_PREFIX = "scripted:", "outsider:"
PREFIXES = (SCRIPTED_PREFIX, OUTSIDER_PREFIX)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]*", re.ASCII)
Content = TypeVar("Content", bound=Struct)
log = logging.getLogger(__name__)


class LeagueNote(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of league.json: which game all members play."""

    version: Annotated[int, Meta(ge=VERSION, le=VERSION)]
    game: Name  # name in the registry
    options: Annotated[dict[str, Any], Meta(max_length=100)]  # Any: checked by the game's own struct
    spec: Name  # name in the spec of the game
    schema: Annotated[int, Meta(ge=0)]
    fingerprint: Annotated[str, Meta(max_length=200)]
    teams: Annotated[tuple[int, ...], Meta(min_length=2, max_length=64)]  # the team of each seat
    anchor: Annotated[str, Meta(max_length=NAME_LENGTH)]  # the member whose rating is fixed; empty: none


class Member(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of member.json."""

    name: Name
    kind: Name  # checkpoint, scripted, server or outsider; a program that does not know a kind leaves its members out
    schema: int = 0
    version: int = 0  # updates of the weights
    training_s: float = 0.0
    origin: str = ""  # name of its run or scripted policy, or the address of its server
    parents: tuple[Name, ...] = ()  # members that it was trained from
    sha256: str = ""  # of the weights
    added: str = ""  # when, in UTC


@dataclass(frozen=True, slots=True)
class League:
    """An existing league's folder, and its game."""

    folder: Path
    note: LeagueNote

    @classmethod
    def create(cls, folder: Path, game: Game, options: msgspec.Struct, spec: GameSpec) -> League:
        """Make the folder of a league. Raises LeagueError if there is one already, or if the game does not suit."""
        if len(set(spec.teams)) < 2:
            raise LeagueError(f"{spec.name} has one team; a league is for games in which policies play each other")
        if (folder / NOTE).exists():
            raise LeagueError(f"{folder} is a league already; add members with: ludus league add {folder} RUN")
        scripted = tuple(game.scripted)
        anchor = SCRIPTED_PREFIX + scripted[-1] if scripted else ""
        saved = game.saved_options(options)
        note = LeagueNote(VERSION, game.name, saved, spec.name, spec.schema, spec.fingerprint, spec.teams, anchor)
        try:
            (folder / MEMBERS).mkdir(parents=True, exist_ok=True)
            files.replace(folder / NOTE, _json(note), partial=folder / f".{NOTE}.{os.getpid()}", durable=True)
        except OSError as error:
            raise LeagueError(f"cannot make the league {folder}: {files.reason(error)}") from error
        return cls(folder, note)

    @classmethod
    def open(cls, folder: Path) -> League:
        """Read league.json. Raises LeagueError if the folder is no league."""
        if not (folder / NOTE).exists():
            raise LeagueError(f"{folder} is no league: it has no {NOTE}; make one with: ludus league new {folder}")
        return cls(folder, _read(folder / NOTE, LeagueNote))

    def members(self) -> dict[str, Member]:
        """Return all members by name, in alphabetical order. A damaged one is logged and left out."""
        paths = sorted((self.folder / MEMBERS).glob(f"[A-Za-z0-9]*/{MEMBER}"))
        if len(paths) > MOST_MEMBERS:
            raise LeagueError(f"{self.folder} has {len(paths):,} members, expected at most {MOST_MEMBERS:,}")
        members: dict[str, Member] = {}
        for path in paths:
            try:
                member = _read(path, Member)
                if path.parent.name != folder_name(member.name):
                    raise LeagueError(f"{path} is of a member named {member.name!r}; its folder must have that name")
                members[member.name] = member
            except LeagueError as error:
                log.warning("%s; this member is left out", error)
        return dict(sorted(members.items()))

    def select(self, names: Sequence[str]) -> dict[str, Member]:
        """Return the members with these names, or all. Raises ConfigError for an unknown name."""
        members = self.members()
        for name in names:
            if name not in members:
                raise ConfigError(f"{self.folder} has no member {name!r}; {did_you_mean(name, tuple(members))}")
        return {name: members[name] for name in names} if names else members

    def players(self, names: Sequence[str] = ()) -> dict[str, Member]:
        """Return the members with these names, or all, that can be asked to play: all but outsiders. Raises ConfigError
        for an unknown name, and for an outsider that is named."""
        members = self.select(names)
        for name in names:
            if members[name].kind == OUTSIDER:
                raise ConfigError(f"{name} cannot be asked to play; battles against it come from: ludus play --league")
        return {name: member for name, member in members.items() if member.kind != OUTSIDER}

    def refuse_several_teams(self, command: str) -> None:
        """Raise LeagueError, which names the command, unless the game has two teams."""
        teams = len(set(self.note.teams))
        if teams != 2:
            raise LeagueError(f"{command}: {self.note.spec} has {teams} teams; this needs a game with two")

    def path(self, member: Member) -> Path:
        """Return the folder of a member."""
        return self.folder / MEMBERS / folder_name(member.name)

    def add_checkpoint(
        self, saved: SavedCheckpoint, name: str, *, origin: str = "", parents: Sequence[str] = ()
    ) -> Member:
        """Copy the weights of a checkpoint. Returns the member, or the same one if it was added before.

        Raises LeagueError if the checkpoint is of another game or schema, or if the name belongs to another member.
        """
        check_name(name)
        state = saved.state
        self._refuse_other_game(str(saved.path), state.game.name, state.game.schema, state.game.fingerprint)
        for parent in parents:
            self.select((parent,))
        model = checksums.verified(saved.path / MODEL)
        digest = checksums.of_file(model).sha256
        member = Member(
            name, CHECKPOINT, state.game.schema, state.version, state.training_s, origin, tuple(parents), digest, _now()
        )
        slim = msgspec.structs.replace(
            state, actor=None, other_actors=[], generators={}, pool=[], scores={}, curriculum=None, opponents=None
        )
        return self._add(member, {STATE: _json(slim)}, {MODEL: model})

    def add_scripted(self, game: Game, name: str) -> Member:
        """Add a scripted policy of the game. Raises ConfigError for an unknown one."""
        if name not in game.players:
            raise ConfigError(f"{game.name} has no scripted policy {name!r}; {did_you_mean(name, tuple(game.players))}")
        return self._add(Member(SCRIPTED_PREFIX + name, SCRIPTED, self.note.schema, origin=name, added=_now()), {}, {})

    def add_server(self, address: Address, policy: PolicyDescription, name: str) -> Member:
        """Add a policy that a server of this machine answers for. Raises LeagueError if it plays another game."""
        check_name(name)
        refuse_elsewhere(address)
        self._refuse_other_game(str(address), policy.game.name, policy.game.schema, policy.game.fingerprint)
        origin = str(address)
        return self._add(Member(name, SERVER, self.note.schema, policy.version, origin=origin, added=_now()), {}, {})

    def add_outsider(self, name: str, origin: str) -> Member:
        """Add a person or a program of somebody else, whose matches are played on a server (`origin`)."""
        check_name(name)
        member = Member(OUTSIDER_PREFIX + name, OUTSIDER, self.note.schema, origin=origin, added=_now())
        return self._add(member, {}, {})

    def _refuse_other_game(self, what: str, name: str, schema: int, fingerprint: str) -> None:
        """Raise LeagueError, which names both games, unless a policy of this game can be a member."""
        note = self.note
        for part, ours, theirs in (
            ("game", note.spec, name),
            ("schema", note.schema, schema),
            ("fingerprint", note.fingerprint, fingerprint),
        ):
            if ours != theirs:
                raise LeagueError(
                    f"{what} was made for {part} {theirs}, the league {self.folder} plays {part} {ours}; "
                    "a member must fit the game of its league"
                )

    def _add(self, member: Member, pages: Mapping[str, bytes], copies: Mapping[str, Path]) -> Member:
        final = self.path(member)
        unfinished = final.with_name(f".{final.name}.{os.getpid()}")
        try:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            for name, path in copies.items():
                shutil.copyfile(path, unfinished / name)
            for name, page in {**pages, MEMBER: _json(member)}.items():
                files.write(unfinished / name, page, durable=True)
            sums = {name: checksums.of_file(unfinished / name) for name in (*pages, *copies, MEMBER)}
            checksums.write(unfinished, sums)
            if not (final / MEMBER).exists():
                with suppress(FileExistsError, OSError):
                    unfinished.rename(final)  # fails if another process has added the name meanwhile
        except OSError as error:
            raise LeagueError(f"cannot add {member.name} to {self.folder}: {files.reason(error)}") from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        if not (final / MEMBER).exists():
            raise LeagueError(f"cannot add {member.name} to {self.folder}: {final} cannot be made")
        present = _read(final / MEMBER, Member)
        if not _is_same(present, member):
            raise LeagueError(f"{self.folder} has another member named {member.name}; choose a name with --name")
        return present


def _is_same(one: Member, other: Member) -> bool:
    if one.kind != other.kind or one.sha256 != other.sha256:
        return False
    return one.kind != SERVER or (one.origin, one.version) == (other.origin, other.version)


def find_member(league: League, name: str) -> Member:
    """Return one member without reading all others. Raises LeagueError if it has vanished or is damaged."""
    return _read(league.folder / MEMBERS / folder_name(name) / MEMBER, Member)


def refuse_elsewhere(address: Address) -> None:
    """Raise LeagueError for an address of another machine: a file of a league may not choose whom we connect to."""
    if address.host not in LOOPBACK:
        raise LeagueError(
            f"{address} is not on this machine; a league's folder may only name servers of this machine: forward the "
            "server's port to it, for example with ssh -L"
        )


def refuse_other_version(name: str, origin: str, version: int, served_version: int) -> None:
    """Raise LeagueError if a server has other weights now than those of a policy whose results are kept."""
    if served_version != version:
        raise LeagueError(
            f"{origin} now serves version {served_version}, {name} is version {version}; the results of both cannot be "
            "mixed: start again, in a league with a new member"
        )


def check_name(name: str) -> None:
    """Raise ConfigError for a name that no checkpoint may have."""
    if not NAME.fullmatch(name) or len(name) > NAME_LENGTH:
        raise ConfigError(
            f"{name[:NAME_LENGTH]!r} cannot name a member: use up to {NAME_LENGTH} letters, digits and . _ @ -, "
            "beginning with a letter or digit"
        )


def folder_name(name: str) -> str:
    """Return the name of a member's folder. Raises LeagueError for a name that no member may have."""
    kind, separator, plain = name.rpartition(":")
    if not NAME.fullmatch(plain) or len(name) > NAME_LENGTH or kind + separator not in ("", *PREFIXES):
        raise LeagueError(f"no member can be named {name[:NAME_LENGTH]!r}")
    return f"{kind}+{plain}" if kind else plain


def _read(path: Path, kind: type[Content]) -> Content:
    """Read league.json or a member.json. Raises LeagueError."""
    try:
        size = path.stat().st_size
        if size > NOTE_BYTES:
            raise ValueError(f"it has {size:,} bytes, expected at most {NOTE_BYTES:,}")
        return msgspec.json.decode(checksums.read(path), type=kind)
    except OSError as error:
        raise LeagueError(f"{path} cannot be read: {files.reason(error)}") from error
    except (msgspec.MsgspecError, ValueError, RecursionError, CheckpointError) as error:
        raise LeagueError(f"{path} is damaged: {error}") from error


def read_state(league: League, member: Member) -> checkpoint.State:
    """Return the state of a member's checkpoint. Raises CheckpointError if it vanished or is damaged."""
    return checkpoint.read_state(league.path(member))


def _json(content: Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(content)) + b"\n"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
