"""Small games with known answers, and faults on demand: for learning tests in seconds and for chaos tests."""
