import gzip

import pytest
from format_rows import PAIR

from headway.data.config import Corpus
from headway.data.formats.read import read


@pytest.fixture
def rows(tmp_path):
    """Writes one file and reads it as a corpus."""

    def run(name, text, columns=PAIR, **settings):
        content = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        return list(read(Corpus(file=name, **settings), columns, tmp_path))

    return run
