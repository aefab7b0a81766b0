"""Write a host in Python: bring a `Match`, `serve` speaks the protocol; `check` says whether any host keeps it."""
