"""Plain data in, self-contained pages out: no requests elsewhere, no libraries, no tensors.

Reports have no scripts; the inspection page has its own, in `assets`, and no other. Every page is
one HTML string that works from a file, in light and dark, on paper, and with text in any writing
direction. Saving it is left to the caller.
"""
