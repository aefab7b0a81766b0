from __future__ import annotations

from ludus.games.showdown.page import page, public

LOG = """|t:|1
|player|p1|<b>Player 1</b>||
|switch|p1a: Pikachu|Pikachu, L80|100/100
|turn|1
|move|p1a: Pikachu|Thunderbolt|p2a: Onix
|split|p2
|-damage|p2a: Onix|30/200
|-damage|p2a: Onix|15/100
|cant|p1a: Pikachu|par
|faint|p2a: Onix
|
|win|</script><script>alert(1)</script>"""


def test_a_page_tells_the_battle_in_words() -> None:
    html = page("A match", LOG)
    for words in (
        "<h2>Turn 1</h2>",
        "Pikachu (p1) used Thunderbolt on Onix (p2)",
        "Onix (p2) is at 15/100",
        "Onix (p2) fainted",
    ):
        assert words in html


def test_a_page_is_one_that_showdowns_viewer_reads() -> None:
    html = page("A match", LOG)
    assert '<script type="text/plain" class="battle-log-data">|t:|1\n' in html
    assert "https://play.pokemonshowdown.com/js/replay-embed.js" in html


def test_only_the_public_half_of_a_split_line_is_shown() -> None:
    assert "30/200" not in page("A match", LOG)
    assert list(public(["|split|p1", "secret", "seen", "after"])) == ["seen", "after"]


def test_nothing_from_outside_becomes_markup() -> None:
    html = page("<i>A match</i>", LOG)
    assert "<i>" not in html
    assert html.count("</script>") == 2, "the data block and the viewer"
    assert "<script>alert" not in html.split("</script>")[1]
    assert "<b>Player" not in html.split("</script>")[1]


def test_no_comment_in_a_log_keeps_the_data_block_open() -> None:
    assert "<!--<script>" not in page("A match", "|c|<!--<script>")
