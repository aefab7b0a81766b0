"""Rows that a host leaves in memory it shares with the fleet, instead of writing them to its pipe.

The host's process inherits a file without a name, divided into rooms, each for the rows of one answer. ACTIONS lends a
room; the host writes its observations there, and ARRIVALS says so. Whoever looks at such rows holds on to their room:
it is lent again when nobody does any more. A host that is lent none, because all are taken, sends its rows.
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

ROOMS = 6  # an answer or two on their way, one or two in the caller's hands, and some to spare
MOST_BYTES = 256 << 20  # of one host; those with more send their rows
NO_ROOM = 0  # rooms are numbered from 1


class RowMemory:
    """Of one process of a host."""

    available = hasattr(os, "memfd_create")  # Linux has it

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("ludus-rows", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self._rooms: list[NDArray[np.uint8]] = []
        self._untouched = 0  # references to a room that nobody looks at
        self._lent = deque([NO_ROOM])  # one for each answer that the host owes; the opening has none
        self._row_count = 0  # rows in the room of the answer under way
        self._nbytes = 0

    @classmethod
    def offered(cls) -> RowMemory | None:
        """None where the system has no such files, or does not give one."""
        try:
            return cls() if cls.available else None
        except OSError:
            return None

    def divide(self, rows: int, nbytes: int) -> None:
        """Make rooms for so many rows, now that the host has said how long they are. Too much: there will be none."""
        size = room_bytes(rows, nbytes)
        if not 0 < size * ROOMS <= MOST_BYTES:
            return
        try:
            os.ftruncate(self.descriptor, size * ROOMS)
            # a file that a host could shorten would end the process that reads from it
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            whole = mmap.mmap(self.descriptor, size * ROOMS)
        except OSError:
            return  # more than this process may have
        self._rooms = [np.frombuffer(whole, np.uint8, rows * nbytes, size * room) for room in range(ROOMS)]
        self._untouched = sys.getrefcount(self._rooms[0])
        self._nbytes = nbytes

    def lend(self) -> int:
        """The room for the answer to the next ACTIONS frame; 0: it has none."""
        for room in range(1, len(self._rooms) + 1):
            # views of a room refer to it, however they were made
            if sys.getrefcount(self._rooms[room - 1]) == self._untouched and room not in self._lent:
                self._lent.append(room)
                return room
        self._lent.append(NO_ROOM)
        return NO_ROOM

    def next_rows(self, count: int) -> NDArray[np.uint8]:
        """The next rows of the answer under way [count, nbytes]. Raises ProtocolError where it has none."""
        room = self._lent[0] if self._lent else NO_ROOM
        if room == NO_ROOM:
            raise ProtocolError(
                "ARRIVALS has its rows in memory that was not lent for this answer", HostFault.BAD_ARRIVALS
            )
        first, self._row_count = self._row_count, self._row_count + count
        if self._row_count * self._nbytes > len(self._rooms[room - 1]):
            raise ProtocolError(
                f"{self._row_count} rows lie in memory for {len(self._rooms[room - 1]) // self._nbytes}",
                HostFault.BAD_ARRIVALS,
            )
        return np.ndarray((count, self._nbytes), np.uint8, self._rooms[room - 1], first * self._nbytes)

    def settle(self) -> None:
        """An answer is complete."""
        self._lent.popleft()
        self._row_count = 0

    def close(self) -> None:
        """Rows stay readable for whoever holds on to them."""
        self._rooms = []
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1
