"""Games of OpenSpiel with known equilibria: how far a policy is from one can be measured exactly."""
