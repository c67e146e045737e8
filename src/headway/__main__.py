"""`python -m headway`, which is also what `torchrun -m headway` starts."""

from .cli import run

if __name__ == "__main__":
    run()
