"""The matrix does not shrink: what must be proven for which model is written down here."""

from pathlib import Path

import pytest
from equivalence_cases import CASES, RECURRENT_SCORES, TRANSFORMER_SCORES, is_family
from equivalence_matrix import BLANKS, COLUMNS

from headway.models import FAMILIES, VocabularySizes
from headway.nn.scores import SCORES, score_name

EXPECTED = """
                                   cached prefix fused greedy wide best terms drawn ensemble edges batch padded forced accum procs resumed refer
transformer                        x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  x
recurrent                          x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  x
convolutional                      x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  x
decoder                            x  x  x  x  x  x  x  x  x  .  x  x  x  x  x  x  .
recurrent_decoder                  x  x  .  x  x  x  x  x  x  .  x  x  x  x  x  x  x
markov                             x  x  .  x  x  x  x  x  x  .  x  x  x  .  x  x  .
bag                                .  .  .  .  .  .  .  .  x  x  x  x  .  .  .  .  x
recurrent_encoder                  .  .  .  .  .  .  .  .  x  x  x  x  .  x  .  x  x
encoder                            .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  x  x
unilm                              x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  .
naive                              .  .  .  .  .  .  .  .  .  x  x  x  .  .  .  .  .
seasonal                           .  .  .  .  .  .  .  .  .  x  x  x  .  .  .  .  .
ridge                              .  .  .  .  .  .  .  .  .  x  x  x  .  .  .  .  x
transformer post-norm              x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  x
transformer rms                    x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer rotary                 x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer learned                x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer gated silu             x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer d_head free            x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer d_value other          x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer share target           x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer share none             x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer additive               x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer general                x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer bart                   x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  x
transformer t5                     x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  x
transformer t5 gated               x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  x
recurrent rnn none                 x  x  .  x  x  x  x  x  x  x  x  x  x  x  .  .  x
recurrent lstm none                x  x  .  x  x  x  x  x  x  x  x  x  x  x  .  .  x
recurrent gru bahdanau             x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  x
recurrent lstm bahdanau            x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  x
recurrent rnn location             x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  x
recurrent gru cosine               x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  x
recurrent gru feeding              x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  x
recurrent lstm feeding             x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  x
decoder gpt-2                      x  x  x  x  x  x  x  x  x  .  x  x  x  x  .  .  x
decoder additive                   x  x  x  x  x  x  x  x  x  .  x  x  x  x  .  .  .
decoder relative                   x  x  x  x  x  x  x  x  x  .  x  x  x  x  .  .  .
recurrent_decoder rnn              x  x  .  x  x  x  x  x  x  .  x  x  x  x  .  .  x
recurrent_decoder lstm             x  x  .  x  x  x  x  x  x  .  x  x  x  x  .  .  x
markov add-k                       x  x  .  x  x  x  x  x  x  .  x  x  x  .  .  .  .
markov skips                       x  x  .  x  x  x  x  x  x  .  x  x  x  .  .  .  .
markov selective                   x  x  .  x  x  x  x  x  x  .  x  x  x  .  .  .  .
encoder first                      .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
encoder post-norm                  .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  x
encoder cosine                     .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
encoder bert                       .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  x
encoder relative                   .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
recurrent_encoder lstm             .  .  .  .  .  .  .  .  x  x  x  x  .  x  .  .  x
recurrent_encoder rnn mean         .  .  .  .  .  .  .  .  x  x  x  x  .  x  .  .  x
unilm bert                         x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  x
unilm relative                     x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
bag counts                         .  .  .  .  .  .  .  .  x  x  x  x  .  .  .  .  x
transformer SCORE                  x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
recurrent SCORE                    x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  x
encoder vectors                    .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
encoder vectors post-norm          .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
encoder vectors learned            .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
encoder vectors rotary             .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
encoder vectors relative           .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
encoder vectors none               .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
encoder vectors class              .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
encoder vectors all                .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
encoder vectors grid               .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
encoder vectors grid learned       .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
encoder vectors grid stem          .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
encoder vectors bert               .  .  x  .  .  .  .  .  x  x  x  x  .  x  .  .  .
recurrent_encoder vectors          .  .  .  .  .  .  .  .  x  x  x  x  .  x  .  .  .
recurrent_encoder vectors lstm     .  .  .  .  .  .  .  .  x  x  x  x  .  x  .  .  .
recurrent_encoder vectors rnn mean .  .  .  .  .  .  .  .  x  x  x  x  .  x  .  .  .
transformer vectors                x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer vectors post-norm      x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer vectors class          x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer vectors grid           x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
recurrent vectors                  x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
recurrent vectors bahdanau         x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
recurrent vectors none             x  x  .  x  x  x  x  x  x  x  x  x  x  x  .  .  .
convolutional vectors              x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
convolutional vectors learned      x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer values                 x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer values post-norm       x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer values learned         x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer values rotary          x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer values relative        x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
transformer values none            x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
recurrent values                   x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
recurrent values lstm bahdanau     x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
recurrent values feeding           x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
recurrent values rnn none          x  x  .  x  x  x  x  x  x  x  x  x  x  x  .  .  .
convolutional values               x  x  x  x  x  x  x  x  x  x  x  x  x  x  .  .  .
"""  # noqa: E501
SCORE_ROWS = {"transformer SCORE": TRANSFORMER_SCORES, "recurrent SCORE": RECURRENT_SCORES}
"""Rows that stand for one of each score of the table that no other row has."""


WIDTH = 35  # of the names


def expected_rows():
    header, *lines = EXPECTED.strip("\n").splitlines()
    columns = header.split()
    rows = {}
    for line in lines:
        name = line[:WIDTH].strip()
        for score in SCORE_ROWS.get(name, [""]):
            row = name.replace("SCORE", score)
            rows[row] = dict(zip(columns, line[WIDTH:].split(), strict=True))
    return columns, rows


def cells_that_are(mark):
    return {
        (row, column)
        for row, cells in expected_rows()[1].items()
        for column, cell in cells.items()
        if cell == mark
    }


def test_the_table_names_every_family_every_case_and_every_column():
    columns, rows = expected_rows()
    assert columns == list(COLUMNS)
    assert list(rows) == [case.name for case in CASES]
    assert {case.family for case in CASES if is_family(case)} == set(FAMILIES)


def test_every_score_has_a_row_of_each_family_it_fits():
    for family in ("transformer", "recurrent"):
        sizes = VocabularySizes(9, 9, shared=True)
        resolved = [
            FAMILIES[family].config(**case.settings).resolve(100, sizes).score
            for case in CASES
            if case.family == family and case.has_tokens
        ]
        fitting = {
            name for name, s in SCORES.items() if family == "recurrent" or not s.unfit_in_heads
        }
        assert {score_name(score) for score in resolved if score != "auto"} == fitting


def test_every_blank_has_its_reason():
    assert set(BLANKS) == cells_that_are(".")
    assert all(len(reason) > 20 for reason in BLANKS.values())


def test_nothing_has_gone_from_the_matrix(matrix):
    folder = Path(__file__).parent
    if matrix.files != set(folder.glob("test_*.py")):
        pytest.skip("needs all files of this folder to be collected")
    assert cells_that_are("x") - matrix.collected == set(), "equivalences that are gone"
    assert matrix.collected - cells_that_are("x") == set(), "new ones: write them down here"
