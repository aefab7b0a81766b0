"""Compiles loss functions with torch.compile, each as one graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import torch

Args = ParamSpec("Args")
Returned = TypeVar("Returned")


class Compiler:
    """Compiles functions and caches the last one: wrapping it again takes longer than a small optimiser step."""

    def __init__(self) -> None:
        self._options: dict[str, str | int | bool | Callable[..., object]] = {
            "triton.cudagraphs": False,  # stepping.py captures whole steps
            "compile_threads": 1,  # more threads would be processes that compete with the hosts for cores
        }
        self._last: tuple[object, object] | None = None

    def of(self, function: Callable[Args, Returned]) -> Callable[Args, Returned]:
        """Return the compiled function. Compilation happens at the first call, and again for inputs of another shape.

        A call raises the compiler's exceptions, also for code that would cause a graph break.
        """
        if self._last is None or self._last[0] != function:
            wrapped = torch.compile(
                function,
                fullgraph=True,
                dynamic=False,  # inputs have two shapes: that of most minibatches, and that of the last one of a batch
                options=self._options,
            )
            self._last = function, wrapped
        return cast(Callable[Args, Returned], self._last[1])


def reason(error: BaseException) -> str:
    """Return in one line why the function could not be compiled."""
    inner = getattr(error, "inner_exception", None) or error
    lines = [line.strip() for line in str(inner).splitlines() if line.strip()]
    return f"{type(inner).__name__}: {lines[0] if lines else 'no reason given'}"
