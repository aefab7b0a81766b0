"""The results log: whole lines survive whatever happens to the others, and all losses are counted."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.disk import let_write, stop_writing

from ludus.errors import LeagueError
from ludus.league import results
from ludus.league.results import MatchRecord, RankedMatch, ResultsWriter, encoded, parse, read


def record(seed: int, first: str = "a", second: str = "b", score: float = 1.0) -> MatchRecord:
    return MatchRecord(first, second, seed, score)


def write(league: Path, first: int, matches: int) -> None:
    with ResultsWriter(league) as writer:
        for seed in range(first, first + matches):
            writer.add(record(seed))


def only_file(league: Path) -> Path:
    (path,) = (league / results.FOLDER).iterdir()
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    records = [
        MatchRecord("a", "scripted:b", 2**53 - 1, 0.5, "crashed", True),
        MatchRecord("ünïcode", "b", 0, 0.0),
    ]
    with ResultsWriter(tmp_path) as writer:
        for each in records:
            writer.add(each)
    assert read(tmp_path) == results.Results(records)
    assert read(tmp_path / "nowhere").records == []


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write, args=(tmp_path, 1000 * at, 500)) for at in range(2)]
    for process in writers:
        process.start()
    for process in writers:
        process.join(60)
    with ResultsWriter(tmp_path) as one, ResultsWriter(tmp_path) as other:  # also in one process
        one.add(record(9001))
        other.add(record(9002))
    seeds = sorted(each.seed for each in read(tmp_path).records)
    assert seeds == [*range(500), *range(1000, 1500), 9001, 9002]


def endless(league: Path) -> None:
    with ResultsWriter(league) as writer:
        for seed in range(10**9):
            writer.add(record(seed))


def test_a_killed_writer_leaves_the_log_whole(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=endless, args=(tmp_path,))
    process.start()
    end_s = time.monotonic() + 60
    while len(read(tmp_path).records) < 100:
        assert time.monotonic() < end_s
        process.join(0.05)
    process.kill()
    process.join(60)
    log = read(tmp_path)
    assert [each.seed for each in log.records] == list(range(len(log.records)))
    assert log.cut + log.damaged <= 1


def test_of_a_log_cut_in_half_the_whole_part_is_used_and_the_loss_counted(tmp_path: Path) -> None:
    write(tmp_path, 0, 101)
    path = only_file(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    half = read(tmp_path)
    assert [each.seed for each in half.records] == list(range(len(half.records)))
    assert 48 <= len(half.records) <= 52
    assert half.cut == 1
    assert half.trouble == "left out of the results: 1 line cut short"


@given(st.integers(0, 400), st.binary(min_size=1, max_size=30))
def test_damage_costs_only_the_lines_that_it_touches(at: int, garbage: bytes) -> None:
    lines = [encoded(record(seed)) for seed in range(20)]
    data = bytearray(b"".join(lines))
    at = min(at, len(data) - 1)
    data[at : at + len(garbage)] = garbage
    damage = parse(bytes(data))
    touched = {data[:place].count(b"\n") for place in range(at, min(at + len(garbage), len(data)))}
    assert len(damage.records) >= 20 - len(touched) - 2 - garbage.count(b"\n")
    assert {each.seed for each in damage.records} <= set(range(20))
    assert damage.cut + damage.damaged > 0 or len(damage.records) >= 19


def test_a_valid_line_that_no_writer_makes_is_damage() -> None:
    strange = [encoded(record(1, score=7.0)), encoded(MatchRecord("x" * 200, "b", 1, 1.0)), encoded(record(-1))]
    result = parse(b"".join((encoded(record(5)), *strange, encoded(record(6)))))
    assert [each.seed for each in result.records] == [5, 6]
    assert result.damaged == 3


def test_a_full_disk_is_an_error_that_leaves_the_log_whole(tmp_path: Path) -> None:
    with ResultsWriter(tmp_path) as writer:
        for seed in range(3):
            writer.add(record(seed))
        stop_writing(os.getpid())
        try:
            with pytest.raises(LeagueError, match="the 3 results before it are in the log"):
                writer.add(record(3))
        finally:
            let_write(os.getpid())
        writer.add(record(4))
    assert [each.seed for each in read(tmp_path).records] == [0, 1, 2, 4]


def test_a_file_that_is_too_large_is_not_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 0, 50)
    monkeypatch.setattr(results, "FILE_BYTES", 100)
    log = read(tmp_path)
    assert log.records == []
    assert only_file(tmp_path).name in log.trouble


def test_a_writer_begins_another_file_before_one_grows_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "FILE_BYTES", 200)
    write(tmp_path, 0, 20)
    assert len(list((tmp_path / results.FOLDER).iterdir())) > 3
    assert sorted(each.seed for each in read(tmp_path).records) == list(range(20))


def test_matches_of_strangers_are_left_out_and_counted() -> None:
    log = results.Results([record(1), record(2, "a", "stranger"), record(3, "a", "a")])
    known = log.of({"a", "b"})
    assert [each.seed for each in known.records] == [1]
    assert known.unknown == 2
    assert log.payoff({"a", "b"}).matches.sum() == 1 + 1  # one against itself is still in


def test_forfeits_are_counted_for_whoever_forfeits() -> None:
    log = results.Results([MatchRecord("a", "b", 1, 1.0, "crashed"), MatchRecord("a", "b", 2, 0.0, "illegal action")])
    assert log.forfeits == {"a": 1, "b": 1}


RANKED = RankedMatch(("a", "b", "a"), 7, (0.0, 1.0, 0.5), ("", "", ""), True)


def test_matches_of_several_teams_are_in_the_same_log(tmp_path: Path) -> None:
    with ResultsWriter(tmp_path) as writer:
        writer.add(RANKED)
        writer.add(record(1))
        writer.add(RANKED)
    assert read(tmp_path) == results.Results([record(1)], ranked=[RANKED, RANKED])
    path = only_file(tmp_path)
    path.write_bytes(path.read_bytes()[:-5])
    assert (read(tmp_path).ranked, read(tmp_path).cut) == ([RANKED], 1)


def test_a_match_of_several_teams_that_no_writer_makes_is_damage() -> None:
    strange = [
        RankedMatch(("a", "b", "c"), 1, (0.0, 1.0), ("", "", "")),
        RankedMatch(("a", "b", "c"), 1, (0.0, 1.0, 7.0), ("", "", "")),
        RankedMatch(("a", "b"), 1, (0.0, 1.0), ("", "")),
    ]
    result = parse(b"".join((encoded(RANKED), *map(encoded, strange), encoded(record(5)))))
    assert (result.ranked, [each.seed for each in result.records], result.damaged) == ([RANKED], [5], 3)


def test_of_several_teams_matches_of_strangers_and_of_other_numbers_of_teams_are_counted() -> None:
    four = RankedMatch(("a", "b", "c", "a"), 1, (0.0, 1.0, 0.5, 0.5), ("", "", "", ""))
    alone = RankedMatch(("a", "a", "a"), 1, (0.0, 1.0, 0.5), ("", "", ""))
    stranger = RankedMatch(("a", "b", "x"), 1, (0.0, 1.0, 0.5), ("", "", ""))
    log = results.Results([record(1)], ranked=[RANKED, four, alone, stranger]).of({"a", "b", "c"})
    assert (log.records, log.ranked, log.unknown) == ([], [RANKED], 4)
    forfeited = RankedMatch(("a", "b", "a"), 7, (0.0, 1.0, 0.0), ("crashed", "", "crashed"))
    assert results.Results([], ranked=[forfeited]).forfeits == {"a": 1}


def test_a_million_lines_are_read_in_seconds(tmp_path: Path) -> None:
    line = b"".join(encoded(record(seed, f"member-{seed % 200}", "scripted:heuristic")) for seed in range(10_000))
    (tmp_path / results.FOLDER).mkdir()
    (tmp_path / results.FOLDER / "host-1-1.log").write_bytes(line * 100)
    began_s = time.process_time()
    assert len(read(tmp_path).records) == 1_000_000
    assert time.process_time() - began_s < 6.0
