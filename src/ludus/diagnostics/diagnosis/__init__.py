"""`ludus diagnose`: measures every stage of a run alone and together, and says what limits it."""
