"""Everything in Python that reads bytes from outside, each as one function of bytes: `scripts/fuzz.py` feeds them with
atheris, `tests/unit/test_fuzzing.py` with a few hundred damaged files.

A target returns, or raises one of the errors that its readers promise. Anything else is a find.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from tests.running import small_run

from ludus.actors import in_flight
from ludus.actors.resolved import resolve
from ludus.config import document, edit, load
from ludus.data import manifest, match_ledger, rows
from ludus.data.dataset import Dataset
from ludus.diagnostics import study, tuning
from ludus.errors import (
    CheckpointError,
    ConfigError,
    DatasetError,
    LeagueError,
    LudusError,
    ProtocolError,
    ReplayError,
    UntrustedError,
)
from ludus.evaluation import recording, replay, report
from ludus.games import registry
from ludus.games.rocket import rewards
from ludus.games.showdown.page import page
from ludus.games.showdown.play.outsiders import opponent_of
from ludus.games.showdown.servers import probe
from ludus.games.toy.matches import spec_of
from ludus.games.toy.options import ToyOptions
from ludus.league import members, results
from ludus.league.members import League
from ludus.league.standings import standings
from ludus.metrics import times
from ludus.metrics.exporters import csv, evaluations
from ludus.policies.checkpoints import archive, checkpoint
from ludus.policies.weights import read_tensors
from ludus.run import provenance
from ludus.serving import protocol
from ludus.serving.decision_table import ClientRows, DecisionTable, RefusedRows
from ludus.wire import frames
from ludus.wire.frames import FrameKind
from ludus.wire.ledger import Ledger
from ludus.wire.stream import FrameReader

MATCHES = 4
MAX_BYTES = 1 << 16  # of one input
LEAGUE = (
    b'{"version": 1, "game": "toy", "options": {"game": "nim"}, "spec": "toy/nim", "schema": 1, "fingerprint": "abc", '
    b'"teams": [0, 1], "anchor": ""}'
)  # a league.json


@dataclass(frozen=True, slots=True)
class Target:
    """A reader of bytes. `seeds` names the file, made by `tests.fuzz_seeds`, that its inputs begin as."""

    read: Callable[[bytes, Path], None]  # the path: a folder of its own, for readers of files
    allowed: tuple[type[Exception], ...]
    seeds: str


def _frames(data: bytes, _: Path) -> None:
    reader = FrameReader()
    reader.feed(data)
    for kind, body in reader:
        _body(kind, body)
    reader.close()


def _body(kind: FrameKind, body: memoryview) -> None:
    spec = spec_of(ToyOptions())
    match kind:
        case FrameKind.CONFIGURE:
            frames.decode_configure(body)
        case FrameKind.HELLO:
            frames.decode_hello(body)
        case FrameKind.ARRIVALS:
            frames.decode_arrivals(body, spec.actions, spec.obs.nbytes)
        case FrameKind.ACTIONS:
            frames.decode_actions(body)
        case FrameKind.ENDING:
            frames.decode_ending(body, spec.seats, spec.obs.nbytes)
        case FrameKind.ERROR:
            frames.decode_error(body)
        case FrameKind.TIMES:
            frames.decode_times(body)


def _bodies(data: bytes, _: Path) -> None:
    """The first byte chooses the kind of frame, so that no input is lost to a wrong header."""
    kinds = list(FrameKind)
    if data:
        _body(kinds[data[0] % len(kinds)], memoryview(data)[1:])


def _hello(data: bytes, _: Path) -> None:
    hello = frames.decode_hello(data)
    spec = hello.spec()
    assert spec.seats >= 1, "a game without seats"
    if spec.seats * MATCHES <= 1 << 16 and spec.actions <= 1 << 20:  # others need memory, which the fleet must refuse
        Ledger(spec, MATCHES)


def _ledger(data: bytes, _: Path) -> None:
    """A host's side of a conversation; each complete answer is followed by actions for all rows that wait."""
    reader = FrameReader()
    reader.feed(data)
    ledger = Ledger(spec_of(ToyOptions()), MATCHES)
    for kind, body in reader:
        match kind:
            case FrameKind.ARRIVALS:
                ledger.arrivals(body)
            case FrameKind.ENDING:
                ledger.ending(body)
            case FrameKind.ERROR:
                ledger.lose(frames.decode_error(body))
        if ledger.answers_due == 0 and ledger.waiting:
            ledger.actions(ledger.waited_for())
        assert ledger.waiting == len(ledger.waited_for()), "the count of waiting rows is wrong"


def _state(data: bytes, folder: Path) -> None:
    (folder / checkpoint.STATE).write_bytes(data)
    state = checkpoint.read_state(folder)
    checkpoint.check_fits(state, checkpoint.rebuild_game(state.game, {}), folder)


def _best(data: bytes, folder: Path) -> None:
    checkpoints = archive.Checkpoints(folder, 1)
    checkpoints.folder.mkdir(exist_ok=True)
    (checkpoints.folder / archive.BEST).write_bytes(data)
    checkpoints.best()


def _weights(data: bytes, folder: Path) -> None:
    path = folder / checkpoint.MODEL
    path.write_bytes(data)
    read_tensors(path)


def _in_flight(data: bytes, folder: Path) -> None:
    path = folder / checkpoint.MATCHES
    path.write_bytes(data)
    in_flight.read(path, resolve(small_run()))


def _recording(data: bytes, folder: Path) -> None:
    path = folder / "match.ludus.json"
    path.write_bytes(data)
    match = recording.read(path)
    try:
        game = registry.load(match.game)
    except LudusError:
        return
    replay.options_of(match, game, path)


def _yaml(data: bytes, _: Path) -> None:
    value = document.parse(document.decode(data, "run.yaml"), "run.yaml")
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        again = document.parse(document.render(value), "rendered")
        assert repr(again) == repr(value), "rendered data is read back as other data"  # repr: NaN is not itself


def _config(data: bytes, folder: Path) -> None:
    path = folder / "run.yaml"
    path.write_bytes(data)
    config = load.load(path, options_of=_options_of)
    load.save(config, path)
    assert load.load(path, options_of=_options_of) == config, "a saved configuration is another one"
    text = document.decode(data, "run.yaml")
    changed = document.parse(edit.put(text, {"fleet.hosts": 3}, "run.yaml"), "run.yaml")
    assert changed["fleet"]["hosts"] == 3, "an edited value was not found again"


def _sets(data: bytes, _: Path) -> None:
    """`--set` arguments, as a shell hands them over: bytes that are not UTF-8 become surrogates."""
    words = data.decode("utf-8", "surrogateescape").split("\0")[:8]
    load.assembled({"game": "toy"}, words, None, lambda data: load.build(data, options_of=_options_of))


@cache  # looking up a game reads the metadata of all installed packages
def _options_of(game: str) -> type[msgspec.Struct]:
    return registry.load(game).options


def _rewards(data: bytes, folder: Path) -> None:
    path = folder / "rewards.yaml"
    path.write_bytes(data)
    rewards.read_rewards(str(path))


def _progress(data: bytes, folder: Path) -> None:
    path = folder / report.PROGRESS
    path.write_bytes(data)
    rows = csv.read(path)
    report.markdown("toy", [], report.figures(rows), "", None, report.stages(rows))


def _evaluations(data: bytes, folder: Path) -> None:
    path = folder / report.EVALUATIONS
    path.write_bytes(data)
    report.markdown("toy", evaluations.read(path), report.figures([]), "")


def _activities(data: bytes, folder: Path) -> None:
    path = folder / times.ACTIVITIES_FILE
    path.write_bytes(data)
    report.markdown("toy", [], report.figures([]), "", times.read(path))


def _starts(data: bytes, folder: Path) -> None:
    (folder / provenance.STARTS).write_bytes(data)
    provenance.read(folder)


def _study(data: bytes, folder: Path) -> None:
    (folder / study.JSON).write_bytes(data)
    study.read(folder)


def _tuning(data: bytes, folder: Path) -> None:
    (folder / tuning.JSON).write_bytes(data)
    tuning.read(folder)


def _results(data: bytes, folder: Path) -> None:
    """A league's log, up to its table."""
    (folder / results.FOLDER).mkdir(exist_ok=True)
    (folder / results.FOLDER / f"host-1-1{results.SUFFIX}").write_bytes(data)
    log = results.read(folder)
    whole = [line for line in data.split(b"\n") if line]
    assert len(log.records) + log.cut + log.damaged == len(whole), "a line is neither read nor counted"
    names = sorted({name for record in log.records for name in (record.first, record.second)})[:20]
    standings(names, log).markdown("league")


def _league(data: bytes, folder: Path) -> None:
    (folder / members.NOTE).write_bytes(data)
    League.open(folder)


def _member(data: bytes, folder: Path) -> None:
    """A damaged member is left out, and the league can be used."""
    (folder / members.NOTE).write_bytes(LEAGUE)
    member = folder / members.MEMBERS / "a"
    member.mkdir(parents=True, exist_ok=True)
    (member / members.MEMBER).write_bytes(data)
    assert set(League.open(folder).members()) <= {"a"}


def _page(data: bytes, _: Path) -> None:
    """A battle's log, as a server wrote it."""
    log = data.decode("utf-8", "replace")
    text = page(opponent_of(log, "me"), log)
    assert text.count("<script") == 2, "the log begins a script of its own"


def _probe(data: bytes, _: Path) -> None:
    probe.understood(data)


def _match_ledger(data: bytes, _: Path) -> None:
    shard = match_ledger.decode(data, 10)
    again = match_ledger.decode(match_ledger.encode(shard, 10), 10)
    assert again.decisions == shard.decisions, "a ledger that was written again has other decisions"
    shard.take(np.arange(len(shard.matches)))


def _rows(data: bytes, folder: Path) -> None:
    path = folder / "rows.safetensors"
    path.write_bytes(data)
    content = rows.read(path, row_bytes=16, actions=10)
    content.obs.sum()  # reads the whole map


def _manifest(data: bytes, folder: Path) -> None:
    (folder / manifest.MANIFEST).write_bytes(data)
    dataset = Dataset.open(folder)
    for shard in dataset.shards[:4]:
        assert dataset.ledger_path(shard).is_relative_to(folder / "ledger"), "a shard lies outside of its dataset"
        assert dataset.rows_path(shard).is_relative_to(folder / "rows"), "rows lie outside of their dataset"


def _serving(data: bytes, _: Path) -> None:
    """Both sides of a conversation with a policy server."""
    splitter = protocol.splitter()
    splitter.feed(data)
    for kind, body in splitter:
        _serving_body(kind, body)
    splitter.close()


def _serving_bodies(data: bytes, _: Path) -> None:
    """The first byte chooses the kind of frame, so that no input is lost to a wrong header."""
    kinds = list(protocol.Kind)
    if data:
        _serving_body(kinds[data[0] % len(kinds)], memoryview(data)[1:])


def _serving_body(kind: protocol.Kind, body: memoryview) -> None:
    spec = spec_of(ToyOptions())
    match kind:
        case protocol.Kind.HELLO:
            protocol.decode_json(body, protocol.ClientHello)
        case protocol.Kind.WELCOME:
            protocol.decode_json(body, protocol.Welcome)
        case protocol.Kind.ASK:
            ask = protocol.decode_ask(body, spec.actions, spec.obs.nbytes)
            assert len(ask.row) == len(ask.obs) == len(ask.legal), "columns of different lengths"
            _slots(ask)
        case protocol.Kind.ANSWER:
            protocol.decode_answer(body)
        case protocol.Kind.REFUSED:
            protocol.decode_json(body, protocol.Refusal)
        case protocol.Kind.REPORT:
            protocol.decode_json(body, protocol.Report)


def _slots(ask: protocol.Ask) -> None:
    table, rows = DecisionTable(recurrent=True), ClientRows()
    try:
        places = table.locate(rows, ask)
        table.answered(places, ask)
    except RefusedRows:
        pass
    table.release(rows)
    assert table.used == 0, "slots are left over"


WIRE = (ProtocolError,)
TARGETS: Mapping[str, Target] = {
    "frames": Target(_frames, WIRE, "host"),
    "bodies": Target(_bodies, WIRE, "bodies"),
    "hello": Target(_hello, WIRE, "hello"),
    "ledger": Target(_ledger, WIRE, "host"),
    "serving": Target(_serving, WIRE, "serving"),
    "serving_bodies": Target(_serving_bodies, WIRE, "serving_bodies"),
    "state": Target(_state, (CheckpointError,), "state"),
    "best": Target(_best, (CheckpointError,), "best"),
    "weights": Target(_weights, (CheckpointError,), "weights"),
    "in_flight": Target(_in_flight, (CheckpointError,), "in_flight"),
    "recording": Target(_recording, (ReplayError, UntrustedError), "recording"),
    "yaml": Target(_yaml, (ConfigError,), "yaml"),
    "config": Target(_config, (ConfigError,), "yaml"),
    "sets": Target(_sets, (ConfigError,), "sets"),
    "rewards": Target(_rewards, (ConfigError,), "rewards"),
    "progress": Target(_progress, (), "progress"),
    "evaluations": Target(_evaluations, (), "evaluations"),
    "activities": Target(_activities, (), "activities"),
    "starts": Target(_starts, (), "starts"),
    "results": Target(_results, (), "results"),
    "league": Target(_league, (LeagueError,), "league"),
    "member": Target(_member, (), "member"),
    "study": Target(_study, (ConfigError,), "study"),
    "match_ledger": Target(_match_ledger, (DatasetError,), "match_ledger"),
    "rows": Target(_rows, (DatasetError,), "rows"),
    "manifest": Target(_manifest, (DatasetError,), "manifest"),
    "tuning": Target(_tuning, (ConfigError,), "tuning"),
    "page": Target(_page, (), "page"),
    "probe": Target(_probe, (probe.StrangerError, ConnectionResetError), "probe"),
}


def find(target: Target, data: bytes, folder: Path) -> Exception | None:
    """The error that an input causes and that its reader does not promise; None where there is none."""
    try:
        target.read(data[:MAX_BYTES], folder)
    except target.allowed:
        return None
    except Exception as error:  # whatever it is, it is a find
        return error
    return None
