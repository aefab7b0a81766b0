"""Small games with known answers, which agents learn in seconds."""
