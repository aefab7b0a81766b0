"""Magic: The Gathering on an installed Forge (Card-Forge/forge), played inside its own Java process."""
