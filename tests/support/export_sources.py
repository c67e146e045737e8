"""What the runs of `conftest.py` have learnt to read; they say it backwards."""

SOURCES = [
    f"{a} {b} {c}"
    for a in ("one", "two", "ten")
    for b in ("big", "red")
    for c in ("dog", "dot", "cat")
]
