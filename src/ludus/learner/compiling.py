"""Compiles loss functions with torch.compile, each as one graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import torch

Args = ParamSpec("Args")
Returned = TypeVar("Returned")


MOST = 2  # functions in the cache: runs that also learn from a dataset alternate between two losses


class Compiler:
    """Compiles functions and caches the last ones: wrapping one again takes longer than a small optimiser step."""

    def __init__(self) -> None:
        self._options: dict[str, str | int | bool | Callable[..., object]] = {
            "triton.cudagraphs": False,  # stepping.py captures whole steps
            "compile_threads": 1,  # more threads would be processes that compete with the hosts for cores
        }
        self._wrapped: dict[object, object] = {}

    def of(self, function: Callable[Args, Returned]) -> Callable[Args, Returned]:
        """Return the compiled function. Compilation happens at the first call, and again for inputs of another shape.

        A call raises the compiler's exceptions, also for code that would cause a graph break.
        """
        if function not in self._wrapped:
            if len(self._wrapped) == MOST:
                del self._wrapped[next(iter(self._wrapped))]
            self._wrapped[function] = torch.compile(
                function,
                fullgraph=True,
                dynamic=False,  # inputs have two shapes: that of most minibatches, and that of the last one of a batch
                options=self._options,
            )
        return cast(Callable[Args, Returned], self._wrapped[function])


def reason(error: BaseException) -> str:
    """Return in one line why the function could not be compiled."""
    inner = getattr(error, "inner_exception", None) or error
    lines = [line.strip() for line in str(inner).splitlines() if line.strip()]
    return f"{type(inner).__name__}: {lines[0] if lines else 'no reason given'}"
