"""Preparing, training and batching need no more memory for a large corpus than for a small one.

Each size is trained on in a process of its own, from the raw files to a run directory, and then an
epoch of its batches is made; after each stage the process reports its peak resident memory. The
larger size is set in megabytes by HEADWAY_MEMORY_TEST_MB; 2000 is the claim, the default keeps the
test short.
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
    import headway
    from headway.data.batching import Batches
    from headway.data.codecs.text import TextConfig
    from headway.data.collate import collate
    from headway.data.config import Corpus, DataConfig, default_cache
    from headway.data.leakage import LeakCheck
    from headway.data.prepare import prepare
    from headway.models.transformer import TransformerConfig
    from headway.tasks.translate import Translate
    from headway.training.progress import Silent
    from headway.training.config import TrainConfig

    def peak():
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    class Stages(Silent):
        def note(self, text):
            if text.startswith("train: ") and "examples prepared" in text:
                reached("prepare")

    def reached(stage):
        figures.update({stage: peak(), stage + "_seconds": time.monotonic() - began})

    folder, began = Path(sys.argv[1]), time.monotonic()
    corpus, held_out = Corpus(source="a", target="b"), Corpus(file="held.tsv")
    figures = {"start": peak()}
    config = headway.RunConfig(
        data=DataConfig(train=corpus, valid=held_out, root=str(folder)),
        text=TextConfig(size=2000),
        model=TransformerConfig(
            d_model=32, d_ff=64, n_heads=2, encoder_layers=1, decoder_layers=1
        ),
        train=TrainConfig(steps=20, evaluate_every=10, batch_tokens=2048),
    )
    headway.train(config, folder / "run", Stages())
    reached("train")

    codecs = Translate().load_codecs(folder / "run" / "codecs").codecs
    check = LeakCheck({"valid": [held_out]}, codecs, folder)
    stores = default_cache() / "stores"
    prepared = prepare([corpus], codecs, stores, root=folder, max_length=256, leak_check=check)
    assert prepared.reused
    batches = Batches(prepared.store, ("target", "source"), 4096, seed=1)
    seen = sum(len(collate(prepared.store, batch, bos=1)["src"]) for batch in batches.epoch(0))
    reached("batches")
    figures |= {"examples": len(prepared.store), "seen": seen}
    figures |= {"leaks": prepared.leaks.pairs["valid"]}
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
    environment = os.environ | {
        "HEADWAY_CACHE": str(folder / "cache"),
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    command = [sys.executable, "-c", MEASURE, str(folder)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.timeout(0)  # the claim takes an hour or more
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_with_the_corpus(tmp_path):
    small = measure(tmp_path / "small", SMALL_MB)
    large = measure(tmp_path / "large", LARGE_MB)
    print(json.dumps({"small": small, "large": large}))
    for figures in (small, large):
        assert figures["seen"] == figures["examples"]
        assert figures["leaks"] >= 1
    assert large["examples"] > small["examples"] * LARGE_MB / SMALL_MB * 0.9
    for stage in ("prepare", "train", "batches"):
        assert large[stage] - small[stage] < ALLOWED_MB
