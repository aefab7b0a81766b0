from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

from ludus.metrics import names
from ludus.metrics.exporters.tensorboard import TensorBoard


def scalars(folder: Path) -> list[tuple[int, str, float]]:
    """step, tag and value of every scalar in a folder of event files, in the order written."""
    return [
        (event.step, value.tag, round(value.simple_value, 5))
        for path in sorted(folder.iterdir())
        for event in LegacyEventFileLoader(str(path)).Load()
        for value in event.summary.value
    ]


def test_numbers_are_written_over_updates_and_texts_are_not(tmp_path: Path) -> None:
    with TensorBoard(tmp_path) as board:
        board.on_progress({names.UPDATES: 3, names.KL: 0.25, names.PHASE: "training", names.WIN_RATE("random"): 0.1})
        board.on_evaluation([SimpleNamespace(opponent="random", win_rate=0.75)])
    assert scalars(tmp_path) == [(3, names.UPDATES, 3.0), (3, names.KL, 0.25), (3, names.WIN_RATE("random"), 0.75)]


def test_a_resumed_run_tells_tensorboard_where_it_begins(tmp_path: Path) -> None:
    with TensorBoard(tmp_path) as board:
        board.on_progress({names.UPDATES: 41, names.KL: 0.5})
    (path,) = tmp_path.iterdir()
    starts = [event.step for event in LegacyEventFileLoader(str(path)).Load() if event.HasField("session_log")]
    assert starts == [41]
