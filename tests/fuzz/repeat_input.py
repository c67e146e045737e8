"""Repeats one fuzzed input, with its traceback.

    python tests/fuzz/repeat_input.py KIND SEED NUMBER [FOLDER]

writes the files of the input to FOLDER (default: fuzz-KIND-SEED-NUMBER) and has headway read them.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]


def main() -> None:
    from fuzz_kinds import kinds
    from fuzz_processes import input_of, write

    name, seed, number, *rest = sys.argv[1:]
    folder = Path(rest[0] if rest else f"fuzz-{name}-{seed}-{number}")
    kind = kinds()[name]
    with TemporaryDirectory() as needed:
        kind.prepare(Path(needed))
        files = input_of(kind, int(seed), int(number))
        write(files, folder)
        print(f"wrote {', '.join(files)} to {folder}")
        kind.read(files, folder)
    print("headway read it without an error")


if __name__ == "__main__":
    main()
