"""For hosts written in Python: a game implements `match.Match`, and `serve.serve` speaks the host protocol for it."""
