"""Real Showdown servers on this machine, loopback only, from the installed package: `fleet.ServerFleet`."""
