"""A channel that breaks on demand."""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress

import msgspec
import numpy as np
from tests.faulty.options import FaultyOptions

from ludus.games.toy.matches import spec_of
from ludus.wire.bodies import VERSION
from ludus.wire.channel import Channel
from ludus.wire.frames import HEADER, HEADER_BYTES, MAGIC, FrameKind, decode_arrivals, decode_configure, encode_arrivals

FOREVER_S = 3600.0


class FaultyChannel:
    """Passes frames through until the host has sent the number of decisions in its options, then breaks."""

    def __init__(self, inner: Channel) -> None:
        self._inner = inner
        self._options = FaultyOptions()
        self._decisions = 0

    def receive(self) -> tuple[FrameKind, memoryview] | None:
        frame = self._inner.receive()
        if frame is not None and frame[0] == FrameKind.CONFIGURE:
            with suppress(msgspec.ValidationError):  # the game refuses it, with the reason
                self._options = msgspec.convert(decode_configure(frame[1]).options, FaultyOptions)
        return frame

    def send(self, frame: bytes) -> None:
        if frame[3] == FrameKind.ARRIVALS:
            self._decisions += struct.unpack_from("<I", frame, HEADER_BYTES)[0]
            fault = self._due()
            if fault and self._claim():
                frame = self._break(fault, frame)
        self._inner.send(frame)

    def _due(self) -> str:
        for fault in ("crash", "hang", "garbage", "half_frame", "huge_length", "nan", "empty_mask", "flood"):
            after: int = getattr(self._options, f"{fault}_after")
            if 0 < after <= self._decisions:
                return fault
        return ""

    def _claim(self) -> bool:
        if not self._options.fault_marker:
            return True
        try:
            os.close(os.open(self._options.fault_marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def _break(self, fault: str, frame: bytes) -> bytes:
        if fault == "crash":
            os._exit(3)
        if fault == "hang":
            time.sleep(FOREVER_S)
        if fault == "garbage":
            return b"this is not a frame, it was printed by a library"
        if fault == "half_frame":
            self._inner.send(frame[: len(frame) // 2])
            os._exit(0)
        if fault == "huge_length":
            return HEADER.pack(MAGIC, VERSION, FrameKind.ARRIVALS, 0xFFFFFFF0)
        if fault == "flood":
            while True:
                self._inner.send(frame)
        return self._spoil(fault, frame)

    def _spoil(self, fault: str, frame: bytes) -> bytes:
        spec = spec_of(self._options)
        came = decode_arrivals(frame[HEADER_BYTES:], spec.actions, spec.obs.nbytes)
        legal = np.unpackbits(came.legal, axis=1, count=spec.actions, bitorder="little").view(np.bool_)
        obs = came.obs.copy()
        if fault == "nan":
            spec.obs.leaf(obs, spec.obs.leaves[0].name)[:, 0] = np.nan
        else:
            legal[:] = False
        return encode_arrivals(came.row, came.match, came.reward, came.opens.view(np.bool_), legal, obs, came.done)
