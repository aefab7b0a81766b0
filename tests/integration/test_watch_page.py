"""The page of `ludus watch` in a real Chromium: what it shows, and that nothing of a run becomes HTML."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests import browsing
from tests.browsing import Browser
from tests.watched import make_run, row

from ludus.metrics import names
from ludus.watch import export
from ludus.watch.answers import Answers
from ludus.watch.page_server import WatchServer
from ludus.watch.runs_folder import Runs

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=document.title=1>"
CONFIG = f"game: toy\noptions:\n  game: '{HOSTILE}'\nlearner:\n  lr: 0.002\n"
READY = "document.documentElement?.dataset.ready"
SETTLED = "new Promise(done => setTimeout(done, 300))"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    make_run(root / "one", 600)
    stage: dict[str, float | str] = {names.STAGE: 1, names.STAGES_TOTAL: 2, names.STAGE_NAME: HOSTILE}
    rows = [row(float(second), **stage) for second in range(9)]
    bad = make_run(root / HOSTILE, config=CONFIG, rows=rows)
    with (bad / "run.log").open("a") as file:
        file.write(f"2026-01-01 10:00:02,000 ERROR ludus: {HOSTILE}</script>\n")
    (bad / "replays").mkdir()
    match = {"policies": [HOSTILE, "random"], "score": [1.0, 0.0], "turns": 3}
    (bad / "replays" / "1.ludus.json").write_bytes(msgspec.json.encode(match))
    (bad / "replays" / "1.html").write_text(f"<h1>Turn 1</h1><script>parent.document.title=1</script>{HOSTILE}")
    return root


@pytest.fixture(scope="module")
def address(runs: Path) -> Iterator[str]:
    with WatchServer(Answers(Runs(runs)), 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.address
        finally:
            server.shutdown()
            thread.join(10.0)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Browser]:
    executable = browsing.find()
    if executable is None:
        pytest.skip("there is no Chromium on this machine")
    with browsing.browser(executable, tmp_path) as started:
        started.size(1280, 900)
        yield started


def show(page: Browser, address: str) -> None:
    page.open("about:blank")
    page.open(address)
    page.wait(READY)
    page.js(SETTLED)


def text(page: Browser, selector: str = "body") -> str:
    return str(page.js(f"document.querySelector({selector!r})?.textContent ?? ''"))


def test_the_page_of_a_run_shows_its_numbers_and_draws_its_charts(page: Browser, address: str) -> None:
    show(page, f"{address}#run=one")
    assert "Win rate80.0%against random" in text(page, ".tiles")
    assert page.js("[...document.querySelectorAll('.plot')].filter(each => each.querySelector('canvas')).length") >= 6
    assert "host 1 (node, pid 812) sent nothing" in text(page, ".log")
    assert "learner.lr" in text(page, "#content")
    assert page.messages == []
    assert [request for request in page.requests if not request.startswith((address, "data:", "about:"))] == []


def test_reward_terms_share_a_chart_and_other_facts_have_their_own(page: Browser, address: str) -> None:
    show(page, f"{address}#run=one")
    learning = text(page, "[aria-labelledby=title-learning]")
    assert "Reward per match, by term" in learning
    assert "goal" in learning
    assert "touch" in learning
    facts = text(page, "[aria-labelledby=title-facts]")
    assert "saves" in facts
    assert "reward_goal" not in facts


def test_restarts_are_shown_for_each_node_of_a_cluster(page: Browser, tmp_path: Path) -> None:
    def at(second: float) -> dict[str, float | str]:
        nodes: dict[str, float | str] = {names.NODES_ALIVE: 1, names.NODES_TOTAL: 2, names.NODES_LOST: 1}
        counts = {names.NODE_HOST_RESTARTS("10.0.0.2"): second // 4, names.NODE_DECISIONS("10.0.0.2"): 100 * second}
        if second > 9:
            counts |= {names.NODE_ACTOR_RESTARTS("10.0.0.3"): 1.0, names.ACTOR_RESTARTS: 1.0}
        return row(second, **nodes, **counts, **{names.HOSTS_RESTARTS: second // 4})

    make_run(tmp_path / "runs" / "cluster", rows=[at(float(second)) for second in range(20)])
    export.write(Answers(Runs(tmp_path / "runs")), tmp_path / "page.html")
    show(page, f"{(tmp_path / 'page.html').as_uri()}#run=cluster")
    assert "Nodes1 of 21 lost" in text(page, ".tiles")
    cells = "[...document.querySelectorAll('[aria-label=\"Nodes of the cluster\"] tr')].map(each => each.textContent)"
    assert page.js(cells)[1:] == ["10.0.0.21,90040", "10.0.0.3001"]
    fleet = text(page, "[aria-labelledby=title-fleet]")
    for title in ("Running nodes", "Restarts of hosts, by node", "Restarts of actors, by node"):
        assert title in fleet
    legend = "[...document.querySelectorAll('figure')].find(each => each.textContent.startsWith({!r})).children[1]"
    assert page.js(legend.format("Restarts") + ".textContent") == "hosts 4actor 1"
    assert page.js(legend.format("Restarts of actors") + ".textContent") == "10.0.0.3 1"
    assert page.messages == []


def test_numbers_are_drawn_where_they_belong(page: Browser, address: str) -> None:
    """The line of decisions per second, 1000 to 1599, rises over the whole chart."""
    show(page, f"{address}#run=one")
    figure = (
        "[...document.querySelectorAll('figure')].find(each => each.textContent.startsWith('Decisions per second'))"
    )
    assert "Decisions per second, up to 9:59 of training time: decisions per s 1,599" in page.js(
        f"{figure}.querySelector('.plot').getAttribute('aria-label')"
    )
    page.js(f"{figure}.querySelector('summary').click()")
    page.js(SETTLED)
    cells = page.js(
        f"[...{figure}.querySelectorAll('tbody td')].map(each => parseInt(each.textContent.replace(',', '')))"
    )
    assert len(cells) >= 20
    assert cells == sorted(cells)
    assert (cells[0] < 1030, cells[-1]) == (True, 1599)


def test_nothing_that_a_run_contains_becomes_html(page: Browser, address: str, runs: Path) -> None:
    export.write(Answers(Runs(runs)), runs.parent / "page.html")
    for place in (address, (runs.parent / "page.html").as_uri()):
        show(page, place)
        assert HOSTILE in text(page, ".list")
        page.js("[...document.querySelectorAll('a')].find(each => each.textContent.startsWith('<img')).click()")
        page.wait("document.querySelector('.run')")
        page.wait("document.querySelector('.log')")
        for selector in ("h1", ".tiles", ".log", ".head"):
            assert HOSTILE in text(page, selector), selector
        page.js("[...document.querySelectorAll('button')].find(each => each.textContent === 'Watch').click()")
        page.js(SETTLED)
        page.wait("document.querySelector('iframe')")
        assert page.js("document.querySelector('iframe').getAttribute('sandbox')") == ""
        assert page.js("document.querySelectorAll('img').length") == 0
        assert page.js("document.title") == "ludus watch"


def test_two_runs_are_compared_in_the_same_charts(page: Browser, address: str) -> None:
    show(page, address)
    page.js("document.querySelectorAll('input[type=checkbox]').forEach(each => each.click())")
    page.js("[...document.querySelectorAll('button')].find(each => each.textContent === 'Compare 2 runs').click()")
    page.wait("document.querySelector('.compare figure')")
    page.js(SETTLED)
    assert "Decisions per second" in text(page, ".compare")
    assert "learner.lr" in text(page, ".compare")
    assert "0.002" in text(page, ".compare")
    assert page.messages == []


def test_the_page_fits_a_phone(page: Browser, address: str) -> None:
    page.size(360, 780, mobile=True)
    for place in ("", "#run=one", "#compare=one,one"):
        show(page, address + place)
        assert page.js("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize(("system", "lightness"), [("dark", "rgb(15, 18, 23)"), ("light", "rgb(245, 246, 248)")])
def test_the_page_follows_the_theme_of_the_system_and_can_change_it(
    page: Browser, address: str, system: str, lightness: str
) -> None:
    page.theme(system)
    show(page, f"{address}#run=one")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.js(background) == lightness
    page.js("document.getElementById('theme').click()")
    assert page.js(background) != lightness


def test_charts_are_read_with_the_keyboard(page: Browser, address: str) -> None:
    show(page, f"{address}#run=one")
    label = "document.activeElement.getAttribute('aria-label')"
    page.js("document.querySelector('.plot').focus()")
    whole = page.js(label)
    page.press("ArrowLeft")
    assert page.js(label) != whole
    assert " at " in page.js(label)
    unnamed = (
        "[...document.querySelectorAll('button, select, input, a, [role=img]')].filter(each => "
        "!(each.getAttribute('aria-label') || each.textContent.trim() || each.labels?.length)).length"
    )
    assert page.js(unnamed) == 0


def test_a_page_whose_run_disappears_says_so(page: Browser, tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs" / "gone")
    with WatchServer(Answers(Runs(run.parent)), 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            show(page, f"{server.address}#run=gone")
            run.rename(tmp_path / "elsewhere")
            page.wait("document.getElementById('notice').textContent.includes('the run gone is not in')")
        finally:
            server.shutdown()
            thread.join(10.0)
