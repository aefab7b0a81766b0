"""Profiles of the processes of a run while it trains: `ludus train --profile`."""
