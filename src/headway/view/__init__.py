"""Self-contained pages from plain data: no other requests, no tensors.

The Jinja2 templates in `templates` write HTML and SVG; the scripts in `assets` draw charts and heat
maps, in the report and on the inspection page. Every page is one HTML string that works from a
file, in light and dark, on paper, and with text in any writing direction. The caller saves it.
"""
