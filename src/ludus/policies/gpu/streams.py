"""Streams, on which the work of a policy is queued: a CUDA stream, or the caller's own thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch

WARM_UPS = 2  # runs before a capture, in which libraries create their handles and select kernels

Run = Callable[[], None]


class Stream(Protocol):
    """Runs functions one after another. Streams of one device run concurrently."""

    device: torch.device
    fuses: bool  # whether captures may use the fused kernels of `gpu/kernels`

    def capture(self, run: Run, *, warm_ups: int = WARM_UPS) -> Run:
        """Run `run` `warm_ups` times, capture it, and return a function that repeats it on the same tensors as one
        launch. Raises RuntimeError if `run` cannot be captured."""
        ...

    def follow(self) -> None:
        """Let later work on this stream start after all work that the caller's own CUDA stream has queued so far."""
        ...

    def start(self, run: Run) -> None:
        """Start `run` and return without waiting for its end."""
        ...

    def wait(self) -> None:
        """Wait until all work that was started on this stream has finished."""
        ...


def open_stream(device: torch.device) -> Stream | None:
    """Return a stream for a policy on this device; None for the CPU, where policies use other inference paths."""
    return CudaStream(device) if device.type == "cuda" else None


class DirectStream:
    """Runs functions at once in the caller's thread: for devices without CUDA graphs, and for tests."""

    fuses = False

    def __init__(self, device: torch.device | None = None) -> None:
        self.device = device or torch.device("cpu")

    def capture(self, run: Run, *, warm_ups: int = WARM_UPS) -> Run:
        return run

    def follow(self) -> None:
        pass

    def start(self, run: Run) -> None:
        run()

    def wait(self) -> None:
        pass


class CudaStream:
    """A CUDA stream, with one memory pool for all its graphs. They can share it because they never run concurrently."""

    fuses = True

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self._pool = torch.cuda.graph_pool_handle()
        # from torch 2.7 on, a stream is a context manager, which is ten times cheaper to enter
        self._entered = self._stream if hasattr(self._stream, "__enter__") else torch.cuda.stream(self._stream)

    def capture(self, run: Run, *, warm_ups: int = WARM_UPS) -> Run:
        self.follow()
        with torch.cuda.stream(self._stream):
            for _ in range(warm_ups):
                run()
        self._stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        try:
            # thread_local: other threads of the process may use the device during the capture
            with torch.cuda.graph(graph, self._pool, self._stream, capture_error_mode="thread_local"):
                run()
        except Exception:
            self._pool = torch.cuda.graph_pool_handle()  # PyTorch refuses to reuse the pool of a failed capture
            raise
        return graph.replay

    def follow(self) -> None:
        self._stream.wait_stream(torch.cuda.current_stream(self.device))

    def start(self, run: Run) -> None:
        with self._entered:
            run()

    def wait(self) -> None:
        self._stream.synchronize()
