"""Files are verified when they are read, and replacing several of them is all or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.policies.checkpoints.test_checkpoint import model, save, state

from ludus.errors import CheckpointError
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.policies.checkpoints.archive import BEST, Checkpoints, best_by_scores
from ludus.policies.checkpoints.checkpoint import MATCHES, MODEL, OPTIMISER, STATE, load_agent
from ludus.policies.checkpoints.checksums import CHECKSUMS


class KilledError(BaseException):
    """Stands for kill -9: nothing between here and the end of the process runs."""


def flip(path: Path, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8 % len(data)] ^= 1 << bit % 8
    path.write_bytes(data)


def test_a_folder_without_checksums_is_read_unverified(tmp_path: Path) -> None:
    path = save(tmp_path, 3)
    (path / CHECKSUMS).unlink()
    assert load_agent(tmp_path).version == 3
    assert checksums.load(path) is None
    assert checksums.holds(path / MODEL)
    assert not checksums.holds(path / MATCHES)


@pytest.mark.parametrize("name", [MODEL, OPTIMISER, STATE])
def test_one_flipped_bit_is_found_and_named_with_the_latest_whole_checkpoint(tmp_path: Path, name: str) -> None:
    for version in (1, 2, 3):
        path = save(tmp_path, version)
    flip(path / name, 8 * 100)
    whole = tmp_path / "checkpoints" / "u00000002"
    words = rf"u00000003/{name} is damaged: expected [\d,]+ bytes with SHA-256 \w{{16}}, found .* is {whole}"
    with pytest.raises(CheckpointError, match=words), checkpoint.offering_another(path):
        checksums.read(path / name)
    if name != OPTIMISER:
        for take in (checkpoint.find, load_agent):
            with pytest.raises(CheckpointError, match=words):
                take(tmp_path)


def test_damage_to_the_checksums_is_not_taken_for_damage_to_another_file(tmp_path: Path) -> None:
    path = save(tmp_path, 1)
    original = (path / CHECKSUMS).read_bytes()
    at = original.index(b'"sha256": "') + len(b'"sha256": "')
    (path / CHECKSUMS).write_bytes(original[:at] + b"?" + original[at + 1 :])
    with pytest.raises(CheckpointError, match=r"checksums.json is damaged .* remove it to read the folder"):
        load_agent(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = save(tmp_path, 1)
    (path / MODEL).unlink()
    with pytest.raises(CheckpointError, match=rf"cannot read .*{MODEL}: .*No such file"):
        checkpoint.find(tmp_path)


def versions_of(path: Path) -> tuple[float, bytes | None]:
    """What a reader sees of a checkpoint: the time in its state, its matches."""
    matches = checksums.verified(path / MATCHES).read_bytes() if checksums.holds(path / MATCHES) else None
    for name in (MODEL, OPTIMISER):
        checksums.read(path / name)
    return checkpoint.read_state(path).training_s, matches


@pytest.mark.parametrize("listed", [True, False], ids=["with checksums", "without"])
@pytest.mark.parametrize("matches", [b"new", None])
def test_a_checkpoint_that_is_replaced_reads_as_the_old_or_the_new_one_wherever_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, matches: bytes | None, listed: bool
) -> None:
    seen = set()
    for killed_at in count():
        run = tmp_path / str(killed_at)
        checkpoints = Checkpoints(run, 3)
        save_matches(checkpoints, 1.0, b"old")
        if not listed:
            (checkpoints.folder / "u00000005" / CHECKSUMS).unlink()
        died = False
        with monkeypatch.context() as patch:
            die_at(patch, killed_at)
            try:
                save_matches(checkpoints, 2.0, matches)
            except KilledError:
                died = True
        seen.add(versions_of(checkpoints.folder / "u00000005"))
        assert seen <= {(1.0, b"old"), (2.0, matches)}
        save_matches(Checkpoints(run, 3), 3.0, b"newest")  # a resumed run replaces it again
        assert versions_of(checkpoints.folder / "u00000005") == (3.0, b"newest")
        assert not list((checkpoints.folder / "u00000005").glob(".unfinished-*"))
        if not died:
            break
    assert seen == {(1.0, b"old"), (2.0, matches)}
    assert killed_at > 5


def save_matches(checkpoints: Checkpoints, training_s: float, matches: bytes | None) -> None:
    if matches is not None:
        with checkpoints.staged().open("wb") as file:
            file.write(matches)
    noted = msgspec.structs.replace(state(5), training_s=training_s)
    staged = None if matches is None else checkpoints.staged()
    checkpoints.save(noted, model(), {}, staged, between=matches is None)


def die_at(patch: pytest.MonkeyPatch, killed_at: int) -> None:
    """Count the calls that change the disk; that one and all after it, as those of a `finally`, do not happen."""
    steps = count()

    def wrap(name: str, call: Callable[..., Any]) -> Callable[..., Any]:  # Any: as the functions of os are
        def step(path: object, *arguments: Any, **named: Any) -> Any:  # Any: as above
            if (name != "open" or arguments[0] & os.O_WRONLY) and next(steps) >= killed_at:
                raise KilledError
            return call(path, *arguments, **named)

        return step

    for name in ("replace", "rename", "unlink", "open"):
        patch.setattr(os, name, wrap(name, getattr(os, name)))


def test_old_checkpoints_are_never_there_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in (1, 2):
        save(tmp_path, version, keep=1)
    removed: list[str] = []
    monkeypatch.setattr("shutil.rmtree", lambda path, ignore_errors: removed.append(Path(path).name))
    save(tmp_path, 3, keep=1)
    assert ".unfinished-u00000002" in removed
    assert Checkpoints(tmp_path, 1).names() == ["u00000003"]


@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"name": "../../x", "score": 1.0}', b"\xff\xfe", b"[" * 100_000, b" " * 100_000]
)
def test_a_damaged_best_json_is_made_anew_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    checkpoints = Checkpoints(tmp_path, 2)
    for version, score in ((1, 0.3), (2, 0.9), (3, 0.5)):
        noted = msgspec.structs.replace(state(version), scores={"a": score})
        checkpoints.mark_best(checkpoints.save(noted, model(), {}), score)
    (checkpoints.folder / BEST).write_bytes(data)
    for version in range(4, 10):
        checkpoints.save(msgspec.structs.replace(state(version), scores={"a": 0.5}), model(), {})
    assert checkpoints.names() == ["u00000002", "u00000008", "u00000009"]
    best = checkpoints.best()
    assert best is not None
    assert (best.name, best.score) == ("u00000002", 0.9)
    assert (checkpoints.folder / "best.json.damaged").read_bytes() == data
    assert caplog.text.count("best.json.damaged, and u00000002 has the best scores") == 1
    assert not checkpoints.mark_best(checkpoints.folder / "u00000009", 0.8)


def test_of_equal_scores_the_oldest_was_the_one_evaluated() -> None:
    best = best_by_scores([("a", {}), ("b", {"x": 1.0, "y": 0.0}), ("c", {"x": 0.5, "y": 0.5}), ("d", {"x": 0.1})])
    assert best is not None
    assert best.name == "b"
    assert best_by_scores([("a", {})]) is None
