"""Hostile configurations: each is refused in one line, within a second, with the line where there is one."""

from __future__ import annotations

import logging
import string
import sys
import time
from pathlib import Path

import pytest

from ludus.cli import main as cli
from ludus.config import bounds, document, load
from ludus.config.settings import RunConfig
from ludus.errors import ConfigError
from ludus.games import registry

DEADLINE_S = 3.0  # of CPU time; a second on most machines
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
FULL = bounds.MAX_BYTES - 16

HOSTILE = {
    "list as a key": ("seed: 1\n? [a]\n: 1\n", "a key is a list or a section, not a text (line 2, column 3)"),
    "list as a short key": ("[a]: 1\n", "a key is a list or a section, not a text (line 1, column 1)"),
    "section as a key": ("{a: 1}: 1\n", "a key is a list or a section, not a text (line 1, column 1)"),
    "5,000 digits": (
        "seed: " + "1" * 5_000,
        "a whole number has 5,000 digits; at most 100 are read (line 1, column 7)",
    ),
    "deep flow": ("[" * 20_000, "nested more than 50 deep (line 1, column 51)"),
    "deep sections": ("{a: " * 10_000, "nested more than 50 deep (line 1, column 201)"),
    "deep block": ("- " * 20_000, "nested more than 50 deep (line 1, column 101)"),
    "deep indentation": (
        "\n".join(" " * n + "a:" for n in range(300)),
        "nested more than 50 deep (line 51, column 51)",
    ),
    "billion laughs": (LAUGHS, "more than 5,000 values, those behind aliases included (line 4"),
    "value within itself": ("a: &a [*a]\n", "alias *a stands before or within the value it names (line 1, column 8)"),
    "unknown alias": ("a: *b\n", "alias *b stands before or within the value it names (line 1, column 4)"),
    "many values": ("[" + "a," * (FULL // 2) + "]", "more than 5,000 values, those behind aliases included (line 1"),
    "NUL": ("seed: 1\nmode: \0\n", "character '\\x00' is not allowed (line 2)"),
    "escape": ("seed: \x1b[31m\n", "character '\\x1b' is not allowed (line 1)"),
    "surrogate": ("seed: \udcff\n", "character '\\udcff' is not allowed (line 1)"),
    "tab": ("fleet:\n\thosts: 1\n", "found character '\\t' that cannot start any token (line 2, column 1)"),
    "python tag": ("a: !!python/object/apply:os.system [ls]\n", "tag !!python/object/apply:os.system is not supported"),
    "int tag": (
        "seed: !!int x\n",
        "tag !!int is not supported; write the plain value without a tag (line 1, column 7)",
    ),
    "set tag": ("seed: !!set {a, b}\n", "tag !!set is not supported"),
    "merge tag": ("a: 1\n!!merge <<: {b: 1}\n", "tag !!merge is not supported"),
    "second document": ("seed: 1\n---\nseed: 2\n", "a second document begins"),
    "too long": ("#" * (bounds.MAX_BYTES + 1), "is longer than 65,536 characters; is it a configuration?"),
}


def built(data: dict[str, object], *sets: str) -> RunConfig:
    return load.assembled(
        data, sets, None, lambda data: load.build(data, options_of=lambda name: registry.load(name).options)
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused_in_one_line_within_a_second(name: str) -> None:
    text, message = HOSTILE[name]
    start_s = time.process_time()
    with pytest.raises(ConfigError) as refused:
        document.parse(text, "run.yaml")
    assert time.process_time() - start_s < DEADLINE_S
    assert message in str(refused.value)
    assert str(refused.value).startswith("run.yaml: ")
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    "text",
    ["1" * FULL + "x", "1." + "1" * FULL, "a\n" * (FULL // 2), "#\n" * (FULL // 2), '"' + "a " * (FULL // 2) + '"'],
    ids=["digits and a letter", "digits of a fraction", "lines", "comments", "words"],
)
def test_a_text_as_long_as_is_allowed_is_read_within_a_second(text: str) -> None:
    start_s = time.process_time()
    document.parse(text, "run.yaml")
    assert time.process_time() - start_s < DEADLINE_S


def test_aliases_within_the_bounds_are_read() -> None:
    assert document.parse("a: &x [1, 2]\nb: *x\nc: {d: *x}\n", "here") == {"a": [1, 2], "b": [1, 2], "c": {"d": [1, 2]}}


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_bytes(b"\xef\xbb\xbfseed: 3\n")
    assert load.read(path) == {"seed": 3}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"seed: 1\nmode: caf\xe9\n", "is not UTF-8 text (byte 0xe9 in line 2); save it with the encoding UTF-8"),
        ("seed: 1\n".encode("utf-16"), "is not UTF-8 text (byte 0xff in line 1); save it with the encoding UTF-8"),
        (b"- a\n" * 1_000, "must be a section with keys, but is ['a', 'a',"),
    ],
)
def test_bytes_that_are_no_configuration_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        load.read(path)
    assert message in str(refused.value)
    assert len(str(refused.value)) < 400


def test_a_file_of_a_gibibyte_is_refused_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(2**30)  # takes no room on the disk
    start_s = time.process_time()
    with pytest.raises(ConfigError, match=r"huge\.yaml: is larger than 64 KiB; is it a configuration\?"):
        load.read(path)
    assert time.process_time() - start_s < DEADLINE_S


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed=[1]: 2", "a key is a list or a section, not a text"),
        ("seed={[1]: 2}", "a key is a list or a section, not a text"),
        ("seed=" + "1" * 5_000, "a whole number has 5,000 digits"),
        ("seed=" + "[" * 20_000, "nested more than 50 deep"),
        ("seed=\x1b[31m", "character '\\x1b' is not allowed"),
        ("seed=!!python/name:os.system", "tag !!python/name:os.system is not supported"),
        ("options." + "a." * 20_000 + "b=1", "has 20,001 keys, one in the other; at most 50 are allowed"),
        ("a\nb=1", "unknown key"),
        ("seed", "must look like a.b=value"),
        ("x" * 100_000, "must look like a.b=value"),
        ("options=" + "[1, " * 40 + "1" + "]" * 40, "must be a section with keys, but is [1, [1"),
    ],
)
def test_a_hostile_set_is_refused_in_one_short_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        built({"game": "toy"}, text)
    assert str(refused.value).startswith("--set ")
    assert message in str(refused.value)
    assert len(str(refused.value)) < 500
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("number", [10**30, -(10**30), 2**63, 10**90])
@pytest.mark.parametrize(
    "setting",
    [
        "seed",
        "fleet.hosts",
        "fleet.matches",
        "fleet.reply_deadline_s",
        "servers.count",
        "learner.decisions",
        "policy.threads",
        "evaluation.matches",
        "budget.updates",
        "n_envs",
        "options.pile",
    ],
)
def test_a_number_that_nothing_can_hold_is_refused_with_its_setting(setting: str, number: int) -> None:
    with pytest.raises(ConfigError, match="must be") as refused:
        built({"game": "toy"}, f"{setting}={number}")
    assert str(refused.value).startswith(f"--set {setting}=")


def test_whole_number_fields_of_a_run_all_have_an_upper_bound() -> None:
    for text in ("fleet.hosts=1025", "fleet.matches=65537", "n_envs=65537", "servers.count=1025", "rollout.queue=1025"):
        with pytest.raises(ConfigError, match="must be a whole number, from "):
            built({"game": "toy"}, text)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("? [a]\n: 1\n", ()),
        (LAUGHS, ()),
        ('"\\e[31m\\n": 1\n', ()),
        ("seed: 1\n", ("--set", "a\udcff=1")),
        ("seed: 1\n", ("--set", "options.env=\x1b]0;title\x07")),
    ],
)
def test_the_command_says_one_printable_line_and_leaves_with_2(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: str,
    words: tuple[str, ...],
) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(content)
    monkeypatch.setenv("LUDUS_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["ludus", "train", str(path), *words])
    # its own log takes such words; those who run tests side by side send what pytest captures as UTF-8
    monkeypatch.setattr(logging.getLogger("ludus"), "propagate", False)
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    line = capsys.readouterr().err
    assert line.startswith("ludus: ")
    assert line.endswith("\n")
    assert set(line.removesuffix("\n")) <= set(string.printable) - set("\n\r\t\x0b\x0c")
