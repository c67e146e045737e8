"""Demos with embedded data."""
