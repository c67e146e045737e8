"""Worked examples: models and pictures small enough to follow by hand."""
