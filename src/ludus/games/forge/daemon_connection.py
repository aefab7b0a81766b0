"""A connection to a Forge daemon. Every wait has a deadline, and every line a largest length."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from ludus.games.forge.daemon_lines import MOST_BYTES, DaemonError, Line, read

CONNECT_S = 5.0
CLOSE_S = 0.5
MOST_STATUS = 100  # lines


class DaemonConnection:
    """One connection. Raises DaemonError, which names the address, for everything that goes wrong with it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str) -> None:
        self._reader, self._writer, self._address = reader, writer, address

    @classmethod
    async def open(cls, address: tuple[str, int]) -> DaemonConnection:
        name = f"{address[0]}:{address[1]}"
        try:
            async with asyncio.timeout(CONNECT_S):
                return cls(*await asyncio.open_connection(*address, limit=MOST_BYTES), name)
        except (OSError, TimeoutError) as error:
            raise DaemonError(f"the daemon at {name} cannot be reached: {error or 'no answer'}") from error

    async def send(self, text: str, silent_s: float) -> None:
        try:
            async with asyncio.timeout(silent_s):
                self._writer.write(f"{text}\n".encode())
                await self._writer.drain()
        except (OSError, TimeoutError) as error:
            raise DaemonError(f"the daemon at {self._address} reads no replies: {error or 'it waits'}") from error

    async def line(self, silent_s: float) -> Line:
        """Return the next line that is not empty."""
        try:
            return read(await self._line(silent_s))
        except DaemonError as error:
            raise DaemonError(f"the daemon at {self._address} {error}") from error

    async def rest(self, silent_s: float) -> str:
        """Return all lines until the daemon closes the connection, or the last of a STATUS answer was read."""
        lines: list[str] = []
        with suppress(DaemonError):
            while len(lines) < MOST_STATUS:
                lines.append((await self._line(silent_s)).decode("utf-8", "replace").strip())
        return "\n".join(lines)

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._writer.wait_closed()

    async def _line(self, silent_s: float) -> bytes:
        while True:
            try:
                async with asyncio.timeout(silent_s):
                    line = await self._reader.readuntil(b"\n")
            except TimeoutError as error:
                raise DaemonError(f"sent nothing for {silent_s:g} s") from error
            except asyncio.IncompleteReadError as error:
                where = "in the middle of a line" if error.partial else "before the result"
                raise DaemonError(f"closed the connection {where}") from error
            except asyncio.LimitOverrunError as error:
                raise DaemonError(f"sent a line of more than {MOST_BYTES >> 10:,} KiB") from error
            except OSError as error:
                raise DaemonError(f"lost the connection: {error}") from error
            if line.strip():
                return line


async def status(address: tuple[str, int], silent_s: float) -> str:
    """Return what a daemon answers to STATUS. Raises DaemonError if it cannot be reached."""
    connection = await DaemonConnection.open(address)
    try:
        await connection.send("STATUS", silent_s)
        return await connection.rest(silent_s)
    finally:
        await connection.close()
