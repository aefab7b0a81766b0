"""Record the output of published V-trace implementations on random segments, for tests/unit/learner/test_vtrace.py.

    python scripts/vtrace_peers.py torchrl    # supports endings, truncation and c_bar
    python scripts/vtrace_peers.py rlax       # supports lambda and endings

Neither is a dependency: torchrl would install another torch, rlax installs jax. Writes tests/data/vtrace/<peer>.json:
the peer's version, and for each case the inputs, under their names in ludus, and the peer's output.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "vtrace"
SHAPE = (3, 7)  # segments, decisions
Case = dict[str, Any]  # Any: numbers, and lists of them


def main() -> None:
    peer = sys.argv[1] if len(sys.argv) == 2 else ""
    if peer not in ASK:
        raise SystemExit(f"usage: vtrace_peers.py {'|'.join(ASK)}")
    cases = [{**case, **ASK[peer](case)} for case in (draw(peer, seed) for seed in range(6))]
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{peer}.json").write_text(json.dumps({"peer": peer, "version": version(peer), "cases": cases}) + "\n")


def draw(peer: str, seed: int) -> Case:
    random = np.random.default_rng(seed)
    ends = random.random(SHAPE) < (0.0, 0.2, 0.4)[seed % 3]
    truncated = ends & (random.random(SHAPE) < 0.5) & (peer == "torchrl")  # to rlax an ending is a discount of 0
    values = {
        "log_ratio": random.normal(0, 1.0, SHAPE),
        "reward": random.normal(size=SHAPE),
        "value": random.normal(size=SHAPE),
        "final_value": np.where(truncated, random.normal(size=SHAPE), 0.0),
        "next_value": random.normal(size=SHAPE[0]),
    }
    return {
        **{name: array.astype(np.float32).tolist() for name, array in values.items()},
        "ends": ends.tolist(),
        "truncated": truncated.tolist(),
        "gamma": (1.0, 0.9, 0.99)[seed % 3],
        "trace_lambda": 1.0 if peer == "torchrl" else (1.0, 0.8, 0.95)[seed % 3],
        "rho_bar": (1.0, 2.0)[seed % 2],
        "c_bar": 1.0 if peer == "rlax" else (1.0, 0.7, 1.5)[seed % 3],
    }


def ask_torchrl(case: Case) -> Case:
    import torch
    from torchrl.objectives.value.functional import vtrace_advantage_estimate

    ends, truncated = np.array(case["ends"]), np.array(case["truncated"])
    following = np.concatenate((np.array(case["value"])[:, 1:], np.array(case["next_value"])[:, None]), axis=1)
    reached = np.where(ends, case["final_value"], following)

    def column(values: Any) -> Any:  # torchrl wants [B, T, 1]
        array = np.asarray(values)
        return torch.from_numpy(array if array.dtype == np.bool_ else array.astype(np.float32)).unsqueeze(-1)

    advantage, target = vtrace_advantage_estimate(
        case["gamma"],
        column(case["log_ratio"]),
        column(np.zeros(SHAPE)),
        column(case["value"]),
        column(reached),
        column(case["reward"]),
        column(ends),
        column(ends & ~truncated),
        rho_thresh=case["rho_bar"],
        c_thresh=case["c_bar"],
    )
    return {"target": target.squeeze(-1).tolist(), "weighted_advantage": advantage.squeeze(-1).tolist()}


def ask_rlax(case: Case) -> Case:
    import jax.numpy as jnp
    import rlax

    targets, advantages = [], []
    for b in range(SHAPE[0]):
        value, ends = np.array(case["value"][b], np.float32), np.array(case["ends"][b])
        answer = rlax.vtrace_td_error_and_advantage(
            jnp.asarray(value),
            jnp.asarray(np.append(value[1:], np.float32(case["next_value"][b]))),
            jnp.asarray(case["reward"][b], jnp.float32),
            jnp.asarray(np.where(ends, 0.0, case["gamma"]).astype(np.float32)),
            jnp.exp(jnp.asarray(case["log_ratio"][b], jnp.float32)),
            lambda_=case["trace_lambda"],
            clip_rho_threshold=case["rho_bar"],
            clip_pg_rho_threshold=case["rho_bar"],
        )
        targets.append((np.asarray(answer.errors) + value).tolist())
        advantages.append(np.asarray(answer.pg_advantage).tolist())
    return {"target": targets, "weighted_advantage": advantages}


ASK: dict[str, Callable[[Case], Case]] = {"torchrl": ask_torchrl, "rlax": ask_rlax}

if __name__ == "__main__":
    main()
