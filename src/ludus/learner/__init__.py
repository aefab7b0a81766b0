"""Learning: segments in, better weights out."""
