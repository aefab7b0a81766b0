"""Evaluates policies, records matches and replays them."""
