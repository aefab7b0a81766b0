"""Commands of Showdown: `ludus play` and `ludus servers`."""
