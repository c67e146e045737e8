"""From files to batches: readers, codecs, the prepared store and the order of examples.

`corpora` says what to read, `read` reads it row by row, `codecs` turn text into numbers, `prepare`
writes them once into a `store`, `batches` decides the order and `collate` makes the tensors (the
only file here that needs torch). What the columns mean is left to the tasks.
"""
