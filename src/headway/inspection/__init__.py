"""Inspections of a model on one input, reports and facts of run directories, as data."""
