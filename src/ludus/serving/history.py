"""Keeps the observations of a client's running matches, from which a server can rebuild hidden states. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.serving.protocol import Ask

MOST_BYTES = 256 << 20  # of all running matches together


class MatchHistory:
    """The answered decisions of every row since its match began.

    If the history of a match is incomplete (it needs too much memory, or the match began before this client), its row
    has none until its next match.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._rows: dict[int, list[Ask]] = {}  # asks of one row each, oldest first

    def __contains__(self, row: int) -> bool:
        return row in self._rows

    def add(self, ask: Ask) -> None:
        """Remember the rows of an ASK that was answered."""
        for at, row in enumerate(ask.row.tolist()):
            if ask.opens[at]:
                self.forget(row)
                self._rows[row] = []
            decisions = self._rows.get(row)
            if decisions is None:
                continue
            one = ask.take(slice(at, at + 1))
            self._bytes += _size(one)
            decisions.append(one)
            if self._bytes > self._most_bytes:
                self.forget(row)

    def forget(self, row: int) -> None:
        """Drop the decisions of a row."""
        self._bytes -= sum(_size(one) for one in self._rows.pop(row, ()))

    def replay(self, most_rows: int) -> Iterator[Ask]:
        """Yield asks of at most `most_rows` rows that send every decision again, those of each row in their order."""
        step = 0
        while True:
            ones = [decisions[step] for decisions in self._rows.values() if len(decisions) > step]
            if not ones:
                return
            for begin in range(0, len(ones), most_rows):
                some = ones[begin : begin + most_rows]
                yield Ask.concatenate(some)
            step += 1


def _size(one: Ask) -> int:
    return int(one.obs.nbytes + one.legal.nbytes + 64)
