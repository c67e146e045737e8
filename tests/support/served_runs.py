"""What the runs of these tests are made of, and their limits."""

from headway.models.encoder import EncoderConfig
from headway.models.transformer import TransformerConfig
from headway.serve.limits import Limits

WORDS = ["abc", "cab", "bca", "bac", "acb", "cba", "aab", "bbc", "cca", "abab", "caca", "bb cc a"]
SMALL = TransformerConfig(d_model=16, d_ff=16, n_heads=2, encoder_layers=1, decoder_layers=2)
READER = EncoderConfig(d_model=8, d_ff=8, n_heads=2, layers=1, segments=2)
INPUTS = {
    "labels": ["abc", "abab"],
    "tags": ["Ann saw Bob", "it"],
    "answers": [{"question": "where ?", "context": "it sat in Rome"}],
    "values": ["so good", "bad"],
    "pairs": [{"text": "so good", "text2": "bad"}, {"text": "a", "text2": ""}],
}
"""What may be asked of those that say something of texts."""
LIMITS = Limits(texts=8, characters=60, terms=3, glossary=5, beam=6, queue=32, seconds=20)
