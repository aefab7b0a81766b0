"""The section of a run's report about the league that the run trains in."""

from __future__ import annotations

from pathlib import Path

from ludus import files
from ludus.errors import LeagueError
from ludus.evaluation import league_pictures
from ludus.league import results
from ludus.league.members import League
from ludus.league.standings import standings

PAYOFF, TRAINING = "league_payoff.png", "league_training.png"


def write(run_dir: Path, folder: Path) -> list[str]:
    """Draw a league's pictures into a run's folder, and return the Markdown lines that show them below its standings.

    A league that vanished or is damaged is a sentence. Raises OSError if a picture cannot be written."""
    title = f"## League {folder.name}"
    try:
        league = League.open(folder)
        log = results.read(league.folder)  # before the members, so that a member that joins meanwhile is no stranger
        members = league.members()
        table = standings(members, log, league.note.anchor or None)
    except (LeagueError, OSError) as error:
        return [title, "", f"The league cannot be shown: {error}.", ""]
    lines = ["#" + table.markdown(f"League {folder.name}")]
    pictures = {
        PAYOFF: ("Who beats whom", league_pictures.payoff(table) if table.matches else None),
        TRAINING: ("Ratings over training of every run", league_pictures.ratings_over_training(table, members)),
    }
    for name, (meaning, picture) in pictures.items():
        if picture is not None:
            files.replace(run_dir / name, picture)
            lines += [f"![{meaning}]({name})", ""]
    return lines
