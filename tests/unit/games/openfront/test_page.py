"""The replay page: text of a record cannot leave its element, and a real browser plays it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests import browsing

from ludus.games.openfront.page import page

PLAYERS = [
    {"id": 1, "name": "Seat 0", "type": "HUMAN", "seat": 0, "team": ""},
    {"id": 2, "name": "</script><b>Evil & Co", "type": "NATION", "seat": -1, "team": ""},
    {"id": 3, "name": "Tribe", "type": "BOT", "seat": -1, "team": ""},
]
FRAMES = [
    {"t": 3, "c": [5, 2], "p": [[2, 50, 1000]], "a": []},
    {"t": 13, "c": [0, 1, 1, 1], "p": [[1, 200, 3000], [2, 50, 1500]], "a": [[0, "spawn 1"]]},
    {
        "t": 23,
        "c": [2, 1, 1, 3],
        "p": [[1, 300, 2000], [2, 50, 1500], [3, 60, 10]],
        "a": [[0, "attack free land, 20%"]],
    },
    {"t": 33, "c": [5, 1], "p": [[1, 350, 2500], [3, 60, 10]], "a": [[0, "noop"]]},
]
LOG = {
    "map": "Onion",
    "width": 4,
    "height": 3,
    "land": 400,
    "terrain": "112300110011",
    "players": PLAYERS,
    "winners": [1],
    "frames": FRAMES,
}
SEEK = "(slider => {{ slider.value = {}; slider.dispatchEvent(new Event('input')); }})(document.getElementById('time'))"


def test_text_of_a_record_cannot_end_its_element() -> None:
    text = page("<i>title", json.dumps(LOG))
    assert "</script><b>" not in text
    assert "<i>title" not in text
    assert text.count("<script") == 2
    assert "\\u003c/script\\u003e" in text


@pytest.mark.browser
def test_the_page_plays_in_a_browser(tmp_path: Path) -> None:
    executable = browsing.find()
    if executable is None:
        pytest.skip("there is no Chromium")
    path = tmp_path / "match.html"
    path.write_text(page("a match", json.dumps(LOG)), encoding="utf-8")
    with browsing.browser(executable, tmp_path) as started:
        started.size(1200, 800)
        started.open(path.as_uri())
        started.wait("document.readyState === 'complete' && document.querySelectorAll('#players tbody tr').length")
        assert started.js("document.getElementById('clock').textContent") == "0:00"
        assert started.js("document.querySelectorAll('b').length") == 0
        started.js(SEEK.format(2))
        rows = started.js("[...document.querySelectorAll('#players tbody tr')].map(row => row.innerText)")
        assert rows[0].split() == ["Seat", "0", "(won)", "75.0%", "200"]
        assert started.js("document.querySelector('#actions li').textContent") == "0:02 seat 0: attack free land, 20%"
        pixel = "[...document.getElementById('map').getContext('2d').getImageData({}, 0, 1, 1).data]"
        own, water = (
            started.js(pixel.format(0)),
            started.js("[...document.getElementById('map').getContext('2d').getImageData(0, 1, 1, 1).data]"),
        )
        assert own[0] > own[2]  # red
        assert water[2] > water[0]  # blue
        started.js(SEEK.format(0))
        assert started.js(pixel.format(0)) != own, "going back undoes what was taken"
        started.js("document.getElementById('speed').value = '60'; document.getElementById('play').click()")
        started.wait("document.getElementById('clock').textContent === '0:03'")
        started.wait("document.getElementById('play').textContent === 'Play'")
        assert not [message for message in started.messages if "rror" in message]
        assert all(request.startswith(("file:", "about:")) for request in started.requests)
