"""Plain data in, self-contained pages out: no requests elsewhere, no tensors.

HTML and SVG are written by the Jinja2 templates in `templates`; charts and heat maps of pages are
drawn by the scripts in `assets`, the same in the report and on the inspection page. Every page is
one HTML string that works from a file, in light and dark, on paper, and with text in any writing
direction. Saving it is left to the caller.
"""
