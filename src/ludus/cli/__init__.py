"""The command line: one file per command. Imports stand inside the commands, so that `ludus --help` answers at once."""
