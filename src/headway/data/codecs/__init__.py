"""Codecs: from the text of a column to numbers and back, one file per type of column."""
