"""Learning by gradient: the loop, one update, optimisers, schedules, resumable state."""
