"""Losses by torch.compile: the whole of one, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import torch

Args = ParamSpec("Args")
Returned = TypeVar("Returned")


class Compiler:
    """Remembers the last function it was given: to wrap it anew at every step takes longer than a small step."""

    def __init__(self, *, graphs: bool) -> None:
        self._options: dict[str, str | int | bool | Callable[..., object]] = {
            "triton.cudagraphs": graphs,
            "compile_threads": 1,  # more would be processes, beside hosts that need the cores
        }
        self._last: tuple[object, object] | None = None

    def of(self, function: Callable[Args, Returned]) -> Callable[Args, Returned]:
        """It is compiled at the first call, and again for other shapes.

        A call raises what the compiler raises: also where it would otherwise leave a part of it uncompiled.
        """
        if self._last is None or self._last[0] != function:
            wrapped = torch.compile(
                function,
                fullgraph=True,
                dynamic=False,  # a batch has minibatches of one size, and a last one
                options=self._options,
            )
            self._last = function, wrapped
        return cast(Callable[Args, Returned], self._last[1])


def reason(error: BaseException) -> str:
    """Why it could not be compiled, in one line."""
    inner = getattr(error, "inner_exception", None) or error
    lines = [line.strip() for line in str(inner).splitlines() if line.strip()]
    return f"{type(inner).__name__}: {lines[0] if lines else 'no reason given'}"
