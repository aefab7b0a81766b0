"""Losses by torch.compile: the whole of one, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch

Args = ParamSpec("Args")
Returned = TypeVar("Returned")


def compiled(function: Callable[Args, Returned], *, graphs: bool) -> Callable[Args, Returned]:
    """It is compiled at the first call, and again for other shapes; a function of the same code is compiled once.

    A call raises what the compiler raises: also where it would otherwise leave a part of it uncompiled.
    """
    return torch.compile(
        function,
        fullgraph=True,
        dynamic=False,  # a batch has minibatches of one size, and a last one
        options={
            "triton.cudagraphs": graphs,
            "compile_threads": 1,  # more would be processes, beside hosts that need the cores
        },
    )


def reason(error: BaseException) -> str:
    """Why it could not be compiled, in one line."""
    inner = getattr(error, "inner_exception", None) or error
    lines = [line.strip() for line in str(inner).splitlines() if line.strip()]
    return f"{type(inner).__name__}: {lines[0] if lines else 'no reason given'}"
