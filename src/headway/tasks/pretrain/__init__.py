"""Pre-training on plain text, one file per objective."""
