"""The net that docs/inference.md shows how to add."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.added import add_from_page

import ludus
from ludus.policies import nets


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Adds the net as the page says, for this test. Returns its name."""
    return add_from_page("inference.md", "Add a net", nets.NETS, monkeypatch, tmp_path)


def test_the_net_of_the_page_learns_nim(added: str, tmp_path: Path) -> None:
    settings = {"policy": {"net": added}, "mode": "serial", "evaluation": {"matches": 100}}
    run = ludus.train("nim", updates=40, settings=settings, run_dir=tmp_path / "run", progress=False)
    assert run.updates == 40
    rates = {result.opponent: result.win_rate for result in run.evaluation}
    assert rates["random"] > 0.8
    assert rates["perfect"] > 0.4  # perfect play wins half of these matches


@pytest.mark.parametrize(
    "policy", [{"recurrent": {"kind": "lstm"}}, {"precision": "bf16"}], ids=["hidden state", "bf16"]
)
def test_the_net_of_the_page_resumes_with_a_hidden_state_and_in_bf16(
    added: str, tmp_path: Path, policy: dict[str, object]
) -> None:
    settings = {"policy": {"net": added, **policy}, "mode": "serial", "evaluation": {"matches": 10}}
    folder = tmp_path / "run"
    assert ludus.train("nim", updates=2, settings=settings, run_dir=folder, progress=False).updates == 2
    assert ludus.train(updates=4, run_dir=folder, resume=True, progress=False).updates == 4


def test_the_net_of_the_page_is_unknown_until_it_is_added() -> None:
    with pytest.raises(ludus.errors.ConfigError, match="unknown net 'residual'"):
        nets.refuse_unknown("residual", ())
