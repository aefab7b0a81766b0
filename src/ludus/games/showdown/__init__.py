"""Pokemon Showdown: its own engine, run by hosts written in JavaScript."""
