"""`python -m headway`, which is also what `torchrun -m headway` starts."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
