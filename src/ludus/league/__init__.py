"""Who plays whom: past selves kept over the run's history, and the shares of matches they get."""
