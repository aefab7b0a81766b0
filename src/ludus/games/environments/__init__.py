"""What environments of Gymnasium and of PettingZoo have in common: spaces, loading, measuring, a thread each."""
