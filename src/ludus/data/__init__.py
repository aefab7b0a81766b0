"""Datasets: matches as seeds and actions (the ledger), and decisions that are rendered from them (the rows)."""
