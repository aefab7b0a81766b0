"""How good a policy is, and proof of what was played."""
