"""Gradient training: the loop, one update, optimisers, schedules, resumable state."""
