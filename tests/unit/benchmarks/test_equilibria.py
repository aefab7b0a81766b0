from __future__ import annotations

import json
from pathlib import Path

from benchmarks.bench_equilibria import draw, latest, report
from benchmarks.drivers.equilibria import Point, learners, preset


def curve(*nash_conv: float) -> list[Point]:
    return [Point(update, 100 * update, float(update), value) for update, value in enumerate(nash_conv, 1)]


CURVES = {
    "kuhn, ppo": [curve(0.9, 0.4), curve(0.8, 0.6)],
    "kuhn, ppo_kl": [curve(0.5, 0.1), curve(0.2, 0.3)],
    "kuhn, rnad": [curve(0.5, 0.05), curve(0.5, 0.05)],
}


def test_the_end_of_each_curve_is_compared_with_that_of_ppo() -> None:
    found = report(CURVES)
    assert found["rows"]["kuhn, ppo"] == {"median": 0.5, "low": 0.4, "high": 0.6, "least": 0.5, "cpu_s": 2.0}  # type: ignore[index]  # JSON
    assert found["rows"]["kuhn, ppo_kl"]["least"] == 0.15  # type: ignore[index]  # as above
    assert found["ratios"] == {"ppo_kl_vs_ppo_kuhn": 0.4, "rnad_vs_ppo_kuhn": 0.1}


def test_the_picture_has_what_was_saved_last_of_each_game(tmp_path: Path) -> None:
    other = {name.replace("kuhn", "leduc"): [curve(3.0, 2.0)] for name in CURVES}
    again = {name: [curve(0.9, 0.01)] for name in CURVES}
    found = latest([json.dumps(report(each)) for each in (CURVES, other, again)])
    assert found == {**again, **other}
    draw(found, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_stages_change_the_learner_at_shares_of_the_budget() -> None:
    stages = "curriculum=[{name: a, promote: {budget: 0.5}}, {name: b, set: {learner.ppo_kl.coef: 0.2}}]"
    found = learners(preset("kuhn", "learner.algorithm=ppo_kl", "learner.ppo_kl.coef=0.4", stages))
    assert [(begin, learner.ppo_kl.coef) for begin, learner in found] == [(0.0, 0.4), (0.5, 0.2)]
    assert len(learners(preset("kuhn"))) == 1
