"""A game in a package of its own: both players see a number and name one, and the closest wins."""
