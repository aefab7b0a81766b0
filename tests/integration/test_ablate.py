"""`ludus ablate` on rocket: interrupted after the first training, then resumed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands import interrupted, ludus_here

SMALL = (
    *("--set", "curriculum=[]", "--set", "options.timeout_s=4", "--set", "fleet.hosts=1", "--set", "fleet.matches=4"),
    *("--set", "learner.decisions=256", "--set", "learner.minibatch=128", "--set", "mode=serial"),
    *("--set", "evaluation.opponents=[random]", "--set", "evaluation.matches=4"),
)


def test_an_ablation_is_interrupted_and_resumed(tmp_path: Path) -> None:
    plan = ("--terms", "touch_strength", "--updates", "1", "--seeds", "1", "--save", "out")
    code, rest = interrupted(
        tmp_path, lambda line: line.startswith("1 of 2. all terms, seed"), "ablate", "rocket", *plan, *SMALL
    )
    assert code == 130
    assert "Interrupted; continue with: ludus ablate --resume out" in rest
    done = ludus_here(tmp_path, "ablate", "--resume", "out")
    assert done.returncode == 0, done.stderr
    assert "2 of 2. without touch_strength, seed" in done.stdout
    state = json.loads((tmp_path / "out" / "ablation.json").read_text())
    whole, left_out = state["effects"]
    assert "reward_touch_strength" in whole["facts"]
    assert "reward_touch_strength" not in left_out["facts"]
    assert "reward_goal" in left_out["facts"]
    assert (tmp_path / "out" / "ablation.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "out" / "ablation.md").read_text()
    assert "| without touch_strength | 1 |" in page
    assert "one seed: cannot tell" in page


def test_a_term_that_the_run_does_not_have_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    refused = ludus_here(tmp_path, "ablate", "rocket", "--terms", "touch_strenght")
    assert refused.returncode == 2
    assert "no term 'touch_strenght'" in refused.stderr
    assert "touch_strength" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_changes_of_settings_are_compared_beside_each_other(tmp_path: Path) -> None:
    changes = ("--change", "wide: policy.width=24", "--change", "learner.lr=1e-2")
    plan = ("--updates", "1", "--seeds", "1", "--save", "out", "--beside", "2")
    done = ludus_here(
        tmp_path, "ablate", "nim", *changes, *plan, "--set", "mode=serial", "--set", "evaluation.matches=4"
    )
    assert done.returncode == 0, done.stderr
    folders = {path.name for path in (tmp_path / "out" / "trainings").iterdir()}
    assert folders == {"unchanged-1", "wide-1", "learner.lr-1e-2-1"}
    assert "width: 24" in (tmp_path / "out" / "trainings" / "wide-1" / "config.yaml").read_text()
    page = (tmp_path / "out" / "ablation.md").read_text()
    assert "what each change is worth" in page
    assert "| wide | 1 |" in page


def test_a_change_that_is_wrong_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    for change, words in (
        ("wide", "expected settings"),
        ("learner.rl=1", "learner.rl"),
        ("a: seed=1 b", "expected settings"),
    ):
        refused = ludus_here(tmp_path, "ablate", "nim", "--change", change)
        assert refused.returncode == 2
        assert words in refused.stderr
    assert list(tmp_path.iterdir()) == []
