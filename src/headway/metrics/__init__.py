"""Figures of merit: plain text and numbers in, `Score` with interval and signature out.

One noun per file. Nothing here knows of models, runs or tensors. Everywhere, `references[i]` is the
reference of output i, or a list of references of which the nearest counts.
"""
