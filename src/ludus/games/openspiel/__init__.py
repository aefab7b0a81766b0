"""OpenSpiel games for two players in turns, with the exact exploitability of a policy."""
