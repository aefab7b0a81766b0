"""Runs on a cluster are started again after a loss, and only then."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from ludus.cli import unattended

FIRST, AGAIN = ["train", "nim"], ["train", "--resume"]


class Codes:
    """Stands in for the processes: each ends with the next exit code, perhaps after it has written a checkpoint."""

    def __init__(self, folder: Path, *codes: tuple[int, bool]) -> None:
        self._folder, self._codes = folder, list(codes)
        self.words: list[Sequence[str]] = []

    def __call__(self, words: Sequence[str]) -> int:
        self.words.append(words)
        code, saves = self._codes.pop(0)
        if saves:
            (self._folder / f"u{len(self.words):08d}").mkdir()
        return code


@pytest.fixture(autouse=True)
def _it_does_not_wait(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def latest(folder: Path) -> Path | None:
        return max(folder.iterdir(), default=None)

    monkeypatch.setattr(unattended, "DELAYS_S", (0.0,))
    monkeypatch.setattr("ludus.run.folder.latest", latest)


def trained(monkeypatch: pytest.MonkeyPatch, folder: Path, *codes: tuple[int, bool]) -> tuple[int, list[Sequence[str]]]:
    processes = Codes(folder, *codes)
    monkeypatch.setattr(unattended, "_run", processes)
    return unattended.train(FIRST, AGAIN, folder), processes.words


@pytest.mark.parametrize("loss", [-signal.SIGKILL, -signal.SIGABRT, 1, unattended.CLUSTER_LOST])
def test_lost_learner_goes_on_from_its_last_checkpoint(
    loss: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, words = trained(monkeypatch, tmp_path, (loss, True), (0, True))
    assert (code, words) == (0, [FIRST, AGAIN])


@pytest.mark.parametrize("code", [0, 2, 130, -signal.SIGINT, -signal.SIGTERM])
def test_run_that_ends_or_is_interrupted_is_not_started_again(
    code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ended, words = trained(monkeypatch, tmp_path, (code, True))
    assert (ended, words) == (code if code >= 0 else 128 - code, [FIRST])


def test_cluster_that_is_not_back_yet_is_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, words = trained(monkeypatch, tmp_path, (unattended.CLUSTER_LOST, True), (2, False), (2, False), (0, True))
    assert (code, len(words)) == (0, 4)


def test_loss_without_a_checkpoint_ends_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert trained(monkeypatch, tmp_path, (-signal.SIGKILL, False)) == (128 + signal.SIGKILL, [FIRST])


def test_run_that_is_lost_again_and_again_without_a_checkpoint_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(unattended, "GIVE_UP_S", 0.0)
    code, words = trained(monkeypatch, tmp_path, (1, True), (1, False), (0, False))
    assert (code, len(words)) == (1, 1)
