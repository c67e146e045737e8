"""Plain data in, self-contained pages out: no scripts, no requests, no tensors.

Every page is one HTML string that works from a file, in light and dark, on paper, and with text in
any writing direction. Saving it is left to the caller.
"""
