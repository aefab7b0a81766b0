"""An agent on a Showdown server, against people and other programs."""
