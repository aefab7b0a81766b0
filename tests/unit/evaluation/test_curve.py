from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.evaluation.curve import LABEL_GAP, draw, spread
from ludus.metrics.exporters.evaluations import Evaluation, Score


def evaluation(training_s: float, wins: int, *, final: bool = False) -> Evaluation:
    scores = tuple(Score(name, 100, wins, 100 - wins, 0) for name in ("random", "heuristic"))
    return Evaluation(training_s, 1, 1, final, scores)


@pytest.mark.parametrize(
    "evaluations",
    [
        [evaluation(0, 5), evaluation(60, 50), evaluation(120, 90), evaluation(120, 92, final=True)],
        [evaluation(30, 40, final=True)],
        [evaluation(0, 0)],
    ],
    ids=["whole", "only the end", "only the start"],
)
def test_a_curve_is_drawn_from_any_part_of_a_run(tmp_path: Path, evaluations: list[Evaluation]) -> None:
    draw(evaluations, tmp_path / "curve.png", "toy")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0, 100), min_size=1, max_size=8))
def test_labels_are_moved_apart_and_keep_their_order(heights: list[float]) -> None:
    moved = spread(heights)
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    assert all(moved[high] - moved[low] >= LABEL_GAP - 1e-9 for low, high in pairwise(order))
    assert all(-1e-9 <= height <= 100 + 1e-9 for height in moved)
