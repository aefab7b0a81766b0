"""The bytes and seeds on the page about the host protocol are those that are sent."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ludus.spec import ObsSpec
from ludus.wire.frames import FrameKind, decode_actions, decode_arrivals
from ludus.wire.seeds import match_seed
from ludus.wire.stream import FrameReader

PAGE = (Path(__file__).parents[3] / "docs" / "host-protocol.md").read_text()


def printed() -> bytes:
    """All lines of eight bytes, in their order."""
    return bytes.fromhex(" ".join(re.findall(r"^((?:[0-9a-f]{2} ){7}[0-9a-f]{2})  ", PAGE, flags=re.MULTILINE)))


def test_the_frames_on_the_page_hold_what_it_says() -> None:
    spec = ObsSpec.pack({"x": ("float32", (2,))})
    reader = FrameReader()
    reader.feed(printed())
    frames = list(reader)
    reader.close()
    assert [kind for kind, _ in frames] == [FrameKind.ARRIVALS, FrameKind.ACTIONS, FrameKind.STOP]
    came = decode_arrivals(frames[0][1], 3, spec.nbytes)
    assert (came.row.tolist(), came.match.tolist(), came.reward.tolist()) == ([0, 1], [0, 1], [0.0, 0.0])
    assert (came.opens.tolist(), came.done) == ([1, 1], True)
    legal = np.unpackbits(came.legal, axis=1, count=3, bitorder="little")
    assert [np.flatnonzero(row).tolist() for row in legal] == [[0, 2], [1, 2]]
    assert spec.leaf(came.obs, "x").tolist() == [[0.5, 1.0], [2.0, -1.0]]
    row, action = decode_actions(frames[1][1])
    assert (row.tolist(), action.tolist()) == ([1], [2])


def test_the_seeds_on_the_page_are_derived() -> None:
    said = re.search(r"With seed 7, matches 0, 1 and 2 have the seeds (\d+), (\d+) and (\d+)", PAGE)
    assert said is not None
    assert [int(seed) for seed in said.groups()] == [match_seed(7, number) for number in range(3)]


def test_the_offsets_on_the_page_are_those_of_a_packed_row() -> None:
    spec = ObsSpec.pack({"flag": ("uint8", (1,)), "id": ("uint16", (2,)), "x": ("float32", (2,))})
    assert "are at 0, 2 and 8, and a row has 16" in PAGE
    assert ([leaf.offset for leaf in spec.leaves], spec.nbytes) == ([0, 2, 8], 16)


def test_advice_names_places_that_are_on_the_page() -> None:
    from ludus.hostcheck.advice import ADVICE

    rules = {f"Rule {number}" for number in re.findall(r"^(\d+)\. ", PAGE, flags=re.MULTILINE)}
    places = set(re.findall(r"^##+ (.+)$", PAGE, flags=re.MULTILINE)) | set(
        re.findall(r"^\*\*(\w+)", PAGE, flags=re.MULTILINE)
    )
    assert {advice.place for advice in ADVICE.values()} <= rules | places
