"""Where the work of one policy is queued: a stream of a CUDA device, or the caller's own thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch

WARM_UP = 2  # runs before a capture, in which libraries make their handles and choose their kernels

Run = Callable[[], None]


class Stream(Protocol):
    """Runs one thing after another. Lanes of one device work side by side."""

    device: torch.device
    joins: bool  # what it captures may be joined kernels; else it is to be the operations that do the same

    def capture(self, run: Run) -> Run:
        """`run` as one launch that does the same again on the same memory. Raises RuntimeError where that cannot be."""
        ...

    def follow(self) -> None:
        """What is started from now on begins after all that the caller has queued on the device so far."""
        ...

    def start(self, run: Run) -> None:
        """Begin it, and do not wait for its end."""
        ...

    def wait(self) -> None:
        """Until all that was started has ended."""
        ...


def open_stream(device: torch.device) -> Stream | None:
    """None on the CPU, where a policy has better ways."""
    return CudaLane(device) if device.type == "cuda" else None


class DirectLane:
    """Work is done when it is started: for devices without captured graphs, and to test what uses a lane."""

    joins = False

    def __init__(self, device: torch.device | None = None) -> None:
        self.device = device or torch.device("cpu")

    def capture(self, run: Run) -> Run:
        return run

    def follow(self) -> None:
        pass

    def start(self, run: Run) -> None:
        run()

    def wait(self) -> None:
        pass


class CudaLane:
    """A stream of its own, and one pool of memory for all graphs, which never run at the same time."""

    joins = True

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self._pool = torch.cuda.graph_pool_handle()
        # a stream may be entered by itself from torch 2.7 on, in a tenth of the time
        self._entered = self._stream if hasattr(self._stream, "__enter__") else torch.cuda.stream(self._stream)

    def capture(self, run: Run) -> Run:
        self.follow()
        with torch.cuda.stream(self._stream):
            for _ in range(WARM_UP):
                run()
        self._stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        try:
            # other threads of the process may use the device meanwhile
            with torch.cuda.graph(graph, self._pool, self._stream, capture_error_mode="thread_local"):
                run()
        except Exception:
            self._pool = torch.cuda.graph_pool_handle()  # torch takes nothing more into that of a broken capture
            raise
        return graph.replay

    def follow(self) -> None:
        self._stream.wait_stream(torch.cuda.current_stream(self.device))

    def start(self, run: Run) -> None:
        with self._entered:
            run()

    def wait(self) -> None:
        self._stream.synchronize()
