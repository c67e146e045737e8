"""A trained Transformer in the file formats of other libraries.

`ctranslate2_model` says which settings it cannot express and writes a folder; `codec` writes what
turns text into tokens. The models of Hugging Face are in `runs/hugging_face`. Choosing, checking
and moving the folder into its place is done by the caller.
"""
