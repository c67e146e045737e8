"""A trained Transformer in the file formats of other libraries.

`hugging_face` and `ctranslate2_model` each say which settings they cannot express and write a
folder; `codec` writes what turns text into tokens. Choosing, checking and moving the folder into
its place is done by the caller.
"""
