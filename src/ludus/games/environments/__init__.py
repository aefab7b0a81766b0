"""Code that the Gymnasium and PettingZoo games share: spaces, loading modules, measuring steps, threads."""
