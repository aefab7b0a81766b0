"""Shared memory through which a host passes observations to the fleet, instead of writing them to its pipe.

The host's process inherits an anonymous file, which is divided into rooms, one for the rows of one answer. An ACTIONS
frame names a free room; the host writes its observations there, and the ARRIVALS frame has a flag for it. A room is
free again when no numpy view of it exists any more. If no room is free, the host sends its observations in the frame.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import sys
from collections import deque

import numpy as np
from numpy.typing import NDArray

from ludus.errors import HostFault, ProtocolError
from ludus.wire.frames import room_bytes

ROOMS = 6  # for up to two answers that the host is writing, two that the caller uses, and two spare ones
MOST_BYTES = 256 << 20  # per host; hosts that would need more send their observations in frames
NO_ROOM = 0  # rooms are numbered from 1


class RowMemory:
    """The shared memory of one host process."""

    available = hasattr(os, "memfd_create")  # Linux has it

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("ludus-rows", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self._rooms: list[NDArray[np.uint8]] = []
        self._untouched = 0  # reference count of a room without views
        self._lent = deque([NO_ROOM])  # the room of each answer that the host owes; the opening has none
        self._row_count = 0  # rows so far in the room of the current answer
        self._nbytes = 0

    @classmethod
    def offered(cls) -> RowMemory | None:
        """Return shared memory for a process, or None if the system does not support it or refuses it."""
        try:
            return cls() if cls.available else None
        except OSError:
            return None

    def divide(self, rows: int, nbytes: int) -> None:
        """Divide the memory into rooms for `rows` observations of `nbytes` each, which are known from HELLO.

        If that would exceed `MOST_BYTES`, or the system refuses it, there are no rooms.
        """
        size = room_bytes(rows, nbytes)
        if not 0 < size * ROOMS <= MOST_BYTES:
            return
        try:
            os.ftruncate(self.descriptor, size * ROOMS)
            # if a host could shrink the file, reading from it would end this process with SIGBUS
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            whole = mmap.mmap(self.descriptor, size * ROOMS)
        except OSError:
            return  # over a limit of the system
        self._rooms = [np.frombuffer(whole, np.uint8, rows * nbytes, size * room) for room in range(ROOMS)]
        self._untouched = sys.getrefcount(self._rooms[0])
        self._nbytes = nbytes

    def lend(self) -> int:
        """Return a free room for the answer to the next ACTIONS frame, or 0 if there is none."""
        for room in range(1, len(self._rooms) + 1):
            # every numpy view of a room holds a reference to it
            if sys.getrefcount(self._rooms[room - 1]) == self._untouched and room not in self._lent:
                self._lent.append(room)
                return room
        self._lent.append(NO_ROOM)
        return NO_ROOM

    def next_rows(self, count: int) -> NDArray[np.uint8]:
        """Return the next `count` observations of the current answer [count, nbytes].

        Raises ProtocolError if the answer has no room, or more rows than fit into it.
        """
        room = self._lent[0] if self._lent else NO_ROOM
        if room == NO_ROOM:
            raise ProtocolError(
                "ARRIVALS has its rows in shared memory, but ACTIONS named no room for them", HostFault.BAD_ARRIVALS
            )
        first, self._row_count = self._row_count, self._row_count + count
        if self._row_count * self._nbytes > len(self._rooms[room - 1]):
            raise ProtocolError(
                f"{self._row_count} rows are in a room for {len(self._rooms[room - 1]) // self._nbytes}",
                HostFault.BAD_ARRIVALS,
            )
        return np.ndarray((count, self._nbytes), np.uint8, self._rooms[room - 1], first * self._nbytes)

    def settle(self) -> None:
        """Mark the current answer as complete."""
        self._lent.popleft()
        self._row_count = 0

    def close(self) -> None:
        """Close the file. Views of its rows stay valid."""
        self._rooms = []
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1
