"""From measured speed to machines, hours and cost (`ludus plan`)."""
