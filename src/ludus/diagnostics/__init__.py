"""Is this machine ready, and where does the time go?"""
