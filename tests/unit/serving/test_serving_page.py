"""The bytes on the page about the serving protocol are those that are sent, and its tables are complete."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ludus import limits
from ludus.serving import connection, protocol
from ludus.serving.protocol import Code, Kind
from ludus.spec import ObsSpec

PAGE = (Path(__file__).parents[3] / "docs" / "serving.md").read_text()


def test_the_frames_on_the_page_hold_what_it_says() -> None:
    lines = re.findall(r"^((?:[0-9a-f]{2} ){7}[0-9a-f]{2})  ", PAGE, flags=re.MULTILINE)
    spec = ObsSpec.pack({"x": ("float32", (2,))})
    splitter = protocol.splitter()
    splitter.feed(bytes.fromhex(" ".join(lines)))
    frames = list(splitter)
    splitter.close()
    assert [kind for kind, _ in frames] == [Kind.ASK, Kind.ANSWER, Kind.BYE]
    ask = protocol.decode_ask(frames[0][1], 3, spec.nbytes)
    assert (ask.batch, ask.row.tolist(), ask.number.tolist(), ask.opens.tolist()) == (7, [0, 5], [0, 12], [1, 0])
    legal = np.unpackbits(ask.legal, axis=1, count=3, bitorder="little")
    assert [np.flatnonzero(row).tolist() for row in legal] == [[0, 2], [1, 2]]
    assert spec.leaf(ask.obs, "x").tolist() == [[0.5, 1.0], [2.0, -1.0]]
    answer = protocol.decode_answer(frames[1][1])
    assert (answer.batch, answer.version, answer.action.tolist()) == (7, 120, [2, 1])
    assert (answer.logp.tolist(), answer.value.tolist()) == ([-0.5, -0.25], [0.5, 0.0])


def test_every_kind_and_code_is_on_the_page() -> None:
    for kind in Kind:
        assert f"| {int(kind)} | {kind.name} |" in PAGE
    codes = {
        code for line in re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \|", PAGE, re.MULTILINE) for code in line.split(", ")
    }
    assert {f"`{code.value}`" for code in Code} <= codes


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    assert f"| asks of one client that wait, before the server stops reading | {connection.ASKS} |" in PAGE
    assert f"| connections | {limits.CLIENTS:,} |" in PAGE
    assert (limits.GREETING_BYTES, limits.ASK_ROWS) == (64 << 10, 65_536)
    assert limits.CLIENT_ROWS == limits.SERVED_ROWS == 2**20
