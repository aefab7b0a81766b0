"""Real inputs for the targets of `tests.fuzzing`: files of a short run of the toy game, its frames, a saved match."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from tests import datasets
from tests.hosted import served
from tests.running import latest, small_run, train

from ludus.config import load
from ludus.data import manifest, match_ledger, rows
from ludus.diagnostics import scaling, study, tuning
from ludus.diagnostics.dimensions import Configuration
from ludus.evaluation import recording, report
from ludus.games import registry
from ludus.games.toy.host import make_game
from ludus.games.toy.matches import spec_of
from ludus.games.toy.options import ToyOptions
from ludus.league.members import LeagueNote, Member
from ludus.league.results import MatchRecord, encoded
from ludus.metrics import times
from ludus.metrics.exporters import csv, evaluations
from ludus.metrics.observer import Observers
from ludus.policies.checkpoints import archive, checkpoint, checksums
from ludus.run import provenance
from ludus.serving import protocol
from ludus.serving.protocol import Kind
from ludus.wire import bodies, frames
from ludus.wire.bodies import Configure, ErrorBody
from ludus.wire.frames import FrameKind

TOKENS = (b"null", b"1e999", b"-1", b"9" * 25, b"\xff", b"\xed\xa0\x80", b"\0", b'"', b"[" * 64, b"{", b"NaN", b",")
ENOUGH_FRAMES = 12


def write_seeds(folder: Path) -> None:
    """One folder of files for each kind of input, as `Target.seeds` names it."""
    for kind, files in {**_of_a_run(folder / "run"), **_of_a_dataset(folder), **_of_the_wire(), **_of_texts()}.items():
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(files):
            (folder / kind / f"seed{number}").write_bytes(data)


def read_seeds(folder: Path, kind: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((folder / kind).iterdir())]


def damaged(data: bytes, seed: int) -> bytes:
    """The bytes with up to four small damages: bits, cuts, repeats, tokens that parsers trip over. Same seed, same."""
    draw = random.Random(seed)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(data) + 1)
        size = draw.choice((1, 1, 2, 4, 8, 64))
        match draw.randrange(5):
            case 0 if data:
                at = min(at, len(data) - 1)
                data = data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]
            case 1:
                data = data[:at] + data[at + size :]
            case 2:
                data = data[:at] + data[at : at + size] * 2 + data[at + size :]
            case 3:
                data = data[:at] + draw.randbytes(size) + data[at + size :]
            case _:
                data = data[:at] + draw.choice(TOKENS) + data[at:]
    return data


def _of_a_dataset(folder: Path) -> dict[str, list[bytes]]:
    shard = datasets.shard()
    decisions = shard.decisions
    path = folder / "rows.safetensors"
    file = rows.write(
        path,
        rows.Rows(
            obs=np.zeros((decisions, 16), np.uint8),
            legal=np.zeros((decisions, 2), np.uint8),
            action=shard.action,
            opens=np.zeros(decisions, np.bool_),
            match=np.arange(len(shard.matches), dtype=np.int32),
            reward=np.zeros(decisions, np.float32),
            ends=np.zeros(decisions, np.bool_),
        ),
    )
    data, note = match_ledger.encode(shard, 10), checkpoint.note_game(spec_of(ToyOptions()))
    listed = manifest.ShardNote(
        "000000", checksums.of_bytes(data), 5, decisions, 0.0, manifest.RowsNote(file, note.fingerprint, 5)
    )
    policies = [manifest.PolicyNote("scripted:random", "scripted:random")]
    plan = manifest.PlanNote(0, 0, 5, 1)
    content = manifest.Manifest("toy", note, {}, {}, "0", policies, True, note, plan, [listed], {"died": 1})
    return {"match_ledger": [data], "rows": [path.read_bytes()], "manifest": [msgspec.json.encode(content)]}


def _of_a_run(folder: Path) -> dict[str, list[bytes]]:
    config = small_run(2)
    folder.mkdir(parents=True)
    with csv.ProgressCsv(folder / report.PROGRESS) as progress:
        observer = Observers([progress, evaluations.EvaluationLog(folder / report.EVALUATIONS)])
        path = latest(train(config, folder, observer=observer))
    provenance.note(folder, 2)
    load.save(config, folder / "config.yaml")
    note = path.parent / archive.BEST
    return {
        "state": [(path / checkpoint.STATE).read_bytes()],
        "best": [note.read_bytes() if note.exists() else b'{"name":"u00000002","score":0.5,"stage":0}'],
        "weights": [(path / checkpoint.MODEL).read_bytes()],
        "in_flight": [(path / checkpoint.MATCHES).read_bytes()],
        "progress": [(folder / report.PROGRESS).read_bytes()],
        "evaluations": [(folder / report.EVALUATIONS).read_bytes()],
        "activities": [(folder / times.ACTIVITIES_FILE).read_bytes()],
        "starts": [(folder / provenance.STARTS).read_bytes()],
        "yaml": [(folder / "config.yaml").read_bytes(), *(path.read_bytes() for path in _presets())],
    }


def _presets() -> list[Path]:
    return [path for name in ("toy", "openspiel") for path in load.preset_files(registry.load(name).presets)]


def _of_the_wire() -> dict[str, list[bytes]]:
    host = list(_host_frames())
    kinds = list(FrameKind)
    fleet = [
        frames.encode_configure(Configure(4, {"game": "nim"}, 1)),
        frames.encode_actions(np.arange(4, dtype=np.int32), np.zeros(4, np.int32)),
        frames.encode_stop(),
        frames.encode_error(ErrorBody("lost", "match", 0, 0)),
    ]
    bodies = [bytes([kinds.index(FrameKind(each[3]))]) + each[frames.HEADER_BYTES :] for each in (*host, *fleet)]
    return {
        "host": [b"".join(host), b"".join(host[1:]), b"".join(host[1:4]), b"".join(fleet)],
        "bodies": bodies,
        "hello": [host[0][frames.HEADER_BYTES :]],
        **_of_a_server(),
    }


def _of_a_server() -> dict[str, list[bytes]]:
    """A conversation with a policy server, as a client and the server send it."""
    spec = spec_of(ToyOptions())
    row, obs = np.arange(3, dtype=np.uint32), np.zeros((3, spec.obs.nbytes), np.uint8)
    legal = np.packbits(np.ones((3, spec.actions), np.bool_), axis=1, bitorder="little")
    game = protocol.GameDescription(
        spec.name, spec.seats, spec.actions, spec.schema, spec.fingerprint, spec.obs.nbytes, [], {}, {}
    )
    policy = protocol.PolicyDescription("nim", 7, True, game)
    zeros = np.zeros(3, np.float32)
    client = [
        protocol.encode_json(Kind.HELLO, protocol.ClientHello(protocol.VERSION, "client", "token", "nim")),
        protocol.encode_ask(protocol.Ask(1, row, row, np.ones(3, np.uint8), legal, obs)),
        protocol.encode_empty(Kind.STATUS),
        protocol.encode_empty(Kind.BYE),
    ]
    server = [
        protocol.encode_json(Kind.WELCOME, protocol.Welcome(protocol.VERSION, ["nim"], 30.0, 65_536, policy)),
        protocol.encode_answer(protocol.ServedAnswer(1, 7, row, row, row.astype(np.int32), zeros, zeros)),
        protocol.encode_refused(protocol.Refusal("lost-state", "where is it", 1, [0, 2])),
    ]
    kinds = list(Kind)
    bodies = [bytes([kinds.index(Kind(each[3]))]) + each[frames.HEADER_BYTES :] for each in (*client, *server)]
    return {"serving": [b"".join(client), b"".join(server)], "serving_bodies": bodies}


def _host_frames() -> Iterator[bytes]:
    """What a host of the toy game sends in its first turns, from HELLO on."""
    spec = spec_of(ToyOptions())
    with served(make_game, spec) as fleet:
        fleet.configure(matches=4)
        for _ in range(ENOUGH_FRAMES):
            frame = fleet.channel.receive()
            assert frame is not None
            kind, body = frame[0], bytes(frame[1])
            yield frames.HEADER.pack(frames.MAGIC, bodies.VERSION, kind, len(body)) + body
            if kind is FrameKind.ARRIVALS:
                arrivals = frames.decode_arrivals(body, spec.actions, spec.obs.nbytes)
                legal = np.unpackbits(arrivals.legal, axis=1, bitorder="little").argmax(axis=1)
                if len(arrivals.row):
                    fleet.act(arrivals.row.tolist(), legal.tolist())


def _of_texts() -> dict[str, list[bytes]]:
    record = recording.SavedMatch(
        version=recording.VERSION,
        game="toy",
        schema=1,
        options=msgspec.to_builtins(ToyOptions()),
        seed=1,
        number=0,
        policies=("random", "optimal"),
        actions=((0, 1), (2,)),
        score=(1.0, 0.0),
        turns=3.0,
        truncated=False,
        log_sha256="0" * 64,
    )
    log = "|player|p1|me|1\n|player|p2|<b>you</b>|2\n|turn|1\n|split|p1\n|-heal|p1a: x|9/10\n|-heal|p1a: x|90%\n|win|me"
    answer = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"battles": 3}'
    return {
        "recording": [msgspec.json.encode(record)],
        "rewards": [b"weights:\n  goal: 10.0\n  touch: 0.5\n"],
        "sets": [b"learner.lr=1e-3", b"options.pile=8\0fleet.hosts=2", b"evaluation.opponents=[random]", b"n_envs=64"],
        "page": [log.encode()],
        "probe": [answer],
        "study": [_study()],
        "tuning": [_tuning()],
        "results": [
            b"".join(encoded(MatchRecord("a", name, seed, score)) for seed, score in enumerate((1.0, 0.5, 0.0)))
            for name in ("b", "scripted:random")
        ],
        "league": [
            msgspec.json.encode(LeagueNote(1, "toy", {"game": "nim"}, "toy/nim", 1, "abc", (0, 1), "scripted:perfect")),
        ],
        "member": [
            msgspec.json.encode(Member("a", "checkpoint", 1, 120, 60.0, "run", ("b",), "0" * 64, "2025-01-01")),
        ],
    }


def _tuning() -> bytes:
    configurations = tuple(Configuration((("fleet.hosts", hosts), ("policy.device", "cpu"))) for hosts in (1, 2))
    plan = tuning.TuningPlan(
        name="toy",
        title="toy",
        settings={"game": "toy"},
        budget_s=60.0,
        warm_s=2.0,
        measure_s=5.0,
        start_limit_s=0.0,
        configurations=configurations,
    )
    trial = tuning.TrainingTrial(configuration=configurations[0], round=0, repeat=0, decisions=5, seconds=1.0)
    first = tuning.StartedRound(configurations, 1)
    machine = study.MachineInfo("cpu", 2, "Linux", "")
    return msgspec.json.encode(tuning.Tuning(plan=plan, machine=machine, rounds=[first], trials=[trial]))


def _study() -> bytes:
    plan = scaling.StudyPlan(
        game="toy",
        options={},
        fleet={},
        seed=1,
        policy="random",
        hosts=(1, 2),
        matches=(4,),
        repeats=2,
        budget_s=10.0,
        min_matches=2,
    )
    return msgspec.json.encode(study.Study(plan, study.MachineInfo("cpu", 2, "Linux", ""), []))
