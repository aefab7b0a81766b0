"""Search at play time: worlds are drawn and played on in processes of their own (host/search)."""
