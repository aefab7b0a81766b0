"""OpenFront, played from a checkout of its source that the user names."""
