"""Preparing and batching a corpus need no more memory for a large corpus than for a small one.

Each size runs in a process of its own, which reports its peak resident memory. The larger size is
set in megabytes by HEADWAY_MEMORY_TEST_MB; 2000 is the claim, the default keeps the test short.
"""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

SMALL_MB = 20
LARGE_MB = int(os.environ.get("HEADWAY_MEMORY_TEST_MB", "120"))
ALLOWED_MB = 300

MEASURE = textwrap.dedent(
    """
    import json, sys, time
    from pathlib import Path
    from headway.data.batches import Batches
    from headway.data.codecs import TextCodec
    from headway.data.collate import collate
    from headway.data.corpora import Corpus
    from headway.data.leaks import LeakCheck
    from headway.data.prepare import prepare
    from headway.text import TokenizerConfig, train_tokenizer

    def peak():
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    folder = Path(sys.argv[1])
    columns = ("source", "target")
    corpus = Corpus(source="a", target="b")
    with open(folder / "a") as file:
        lines = [line for line, _ in zip(file, range(2000))]
    codec = TextCodec(train_tokenizer(lines, TokenizerConfig(size=2000)))
    figures = {"start": peak()}
    began = time.monotonic()
    check = LeakCheck({"test": [Corpus(file="held.tsv")]}, columns, folder)
    codecs = dict.fromkeys(columns, codec)
    prepared = prepare([corpus], codecs, folder / "stores", root=folder, leak_check=check)
    figures |= {"prepare": peak(), "prepare_seconds": time.monotonic() - began}
    began = time.monotonic()
    batches = Batches(prepared.store, ("target", "source"), 4096, seed=1)
    seen = sum(len(collate(prepared.store, batch)["src"]) for batch in batches.epoch(0))
    figures |= {"batches": peak(), "batches_seconds": time.monotonic() - began}
    figures |= {"examples": len(prepared.store), "seen": seen}
    figures |= {"leaks": prepared.leaks.pairs["test"]}
    print(json.dumps(figures))
    """
)


def write_corpus(folder, megabytes):
    """Two files of short lines of made-up words, together of the size asked for."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(rng.choice(letters, rng.integers(2, 9))) for _ in range(5000)])
    folder.mkdir()
    with open(folder / "a", "w") as a, open(folder / "b", "w") as b:
        while a.tell() + b.tell() < megabytes << 20:
            for file in (a, b):
                drawn = words[np.minimum(rng.zipf(1.3, 50_000), len(words)) - 1]
                ends = np.sort(rng.choice(np.arange(1, 50_000), 5000, replace=False))
                file.writelines(" ".join(line) + "\n" for line in np.split(drawn, ends)[:5000])
    with open(folder / "a") as a, open(folder / "b") as b:
        (folder / "held.tsv").write_text(a.readline().strip() + "\t" + b.readline())


def measure(folder, megabytes):
    write_corpus(folder, megabytes)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    command = [sys.executable, "-c", MEASURE, str(folder)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_with_the_corpus(tmp_path):
    small = measure(tmp_path / "small", SMALL_MB)
    large = measure(tmp_path / "large", LARGE_MB)
    print(json.dumps({"small": small, "large": large}))
    for figures in (small, large):
        assert figures["seen"] == figures["examples"]
        assert figures["leaks"] >= 1
    assert large["examples"] > small["examples"] * LARGE_MB / SMALL_MB * 0.9
    for stage in ("prepare", "batches"):
        assert large[stage] - small[stage] < ALLOWED_MB
