"""What a run counts and times, under names that stand in one place."""
