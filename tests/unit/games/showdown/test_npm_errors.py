"""Outputs of npm that failed for known reasons (tests/data/npm, recorded from real commands)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.games.showdown import npm_errors

OUTPUTS = Path(__file__).parents[3] / "data" / "npm"


@pytest.mark.parametrize(
    ("code", "reason", "remedy"),
    [
        ("SELF_SIGNED_CERT_IN_CHAIN", "reason: self-signed certificate in certificate chain", "NODE_EXTRA_CA_CERTS"),
        ("ENOTFOUND", "request to http://nowhere.invalid/", "HTTPS_PROXY"),
        ("ECONNREFUSED", "reason: connect ECONNREFUSED 127.0.0.1:1", "npm config get registry"),
        ("FETCH_ERROR", "timeout at: http://127.0.0.1:9555/", "check the network"),
        ("E404", "Not Found - GET http://127.0.0.1:9404/", "refused a package"),
        ("ENOTCACHED", "no cached response is available", "work offline"),
        ("EACCES", "permission denied", "LUDUS_HOME"),
    ],
)
def test_recorded_output_gives_code_reason_and_remedy(code: str, reason: str, remedy: str) -> None:
    line = npm_errors.explain((OUTPUTS / f"{code}.txt").read_text())
    assert line.startswith(f"{code}: ")
    cause, _, advice = line.partition(". What to do: ")
    assert reason in cause
    assert remedy in advice
    assert "complete log" not in line
    assert "\n" not in line


def test_full_disk_is_named_in_the_words_of_older_npm_too() -> None:
    line = npm_errors.explain("npm ERR! code ENOSPC\nnpm ERR! syscall write\nnpm ERR! nospc ENOSPC: no space left\n")
    assert line.startswith("ENOSPC: ENOSPC: no space left. What to do: the disk is full")


def test_code_without_a_known_remedy_is_shown_with_its_reason() -> None:
    output = "npm error code EUSAGE\nnpm error\nnpm error `npm ci` needs a lock file.\nnpm error A complete log of\n"
    assert npm_errors.explain(output) == "EUSAGE: `npm ci` needs a lock file"


@pytest.mark.parametrize(
    ("output", "line"), [("", "npm printed nothing"), ("Segmentation fault\n", "Segmentation fault")]
)
def test_output_without_a_code_is_shown_as_it_is(output: str, line: str) -> None:
    assert npm_errors.explain(output) == line


def test_error_of_the_file_system_gets_a_remedy() -> None:
    assert "LUDUS_HOME" in npm_errors.explain_os_error(PermissionError(13, "Permission denied"))
    assert npm_errors.explain_os_error(OSError("odd")) == ""
