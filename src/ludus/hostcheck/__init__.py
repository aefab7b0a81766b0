"""Checks that a host program follows the host protocol (`ludus hosts check`)."""
