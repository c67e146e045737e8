"""Measured claims about attention, one file per study."""
