"""From files to batches: readers, codecs, the prepared store and the order of examples.

`config` describes the corpora, `formats` reads them row by row, `codecs` turn text into numbers,
`prepare` writes these once into a `store`, `batching` decides the order and `collate` makes tensors
(the only file here that needs torch). The meaning of the columns is left to the tasks.
"""
