"""Metrics: functions of plain texts and numbers that return a `Score` with interval and signature.

One topic per file. No metric knows about models, runs or tensors. Everywhere, `references[i]` is
the reference of output i, or a list of references of which the nearest counts.
"""
