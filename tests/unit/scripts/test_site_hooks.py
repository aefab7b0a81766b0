from __future__ import annotations

import pytest
from scripts import site_hooks


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("README.md", "index.md"),
        ("docs/games/rocket.md", "games/rocket.md"),
        ("benchmarks/results/gen1.md", "results/gen1.md"),
        ("examples/hosts/tictactoe.py", "source/examples/hosts/tictactoe.py.md"),
        ("examples/closest", "source/examples/closest/index.md"),
    ],
)
def test_every_file_of_the_repository_has_one_page(path: str, uri: str) -> None:
    assert site_hooks.site_uri(path) == uri


def test_the_page_of_a_folder_lists_its_files() -> None:
    page = site_hooks.code_page("examples/closest")
    assert "- [closest/game.py](closest/game.py.md)\n" in page
    assert "- [pyproject.toml](pyproject.toml.md)\n" in page


def test_pages_know_the_file_they_are_made_of() -> None:
    uris = ("index.md", "contributing.md", "games/rocket.md", "results/gen1.md")
    files = ["README.md", "docs/contributing.md", "docs/games/rocket.md", "benchmarks/results/gen1.md"]
    assert [site_hooks.repository_path(uri) for uri in uris] == files


def test_lists_and_tables_begin_after_a_blank_line() -> None:
    page = "Text:\n- one\n  more\n- two\n\nText\n| a |\n| - |\n| b |\n"
    assert site_hooks.spaced(page) == "Text:\n\n- one\n  more\n- two\n\nText\n\n| a |\n| - |\n| b |\n"


def test_code_stays_as_it_is() -> None:
    page = "```yaml\nkey:\n- one\n```\n"
    assert site_hooks.spaced(page) == page
